// SPDX-License-Identifier: Apache-2.0
// The table of a text report that names the largest blocks, one by one.
#pragma once
#include <string_view>

#include "analysis/report/page.h"
#include "analysis/summary.h"

namespace tidemark::analysis::report {

// `when`: the instant, in words. Columns that say nothing, or for which there is no room, are left out.
void write_largest(Page& page, const Anatomy& anatomy, std::string_view when);

}  // namespace tidemark::analysis::report
