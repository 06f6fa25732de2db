// SPDX-License-Identifier: Apache-2.0
// The part of a text report that tells of allocations that failed.
#pragma once
#include "analysis/report/page.h"
#include "analysis/summary.h"

namespace tidemark::analysis::report {

// `whole`: with the page that was printed when it happened; else what was asked for and why it failed.
void write_failures(Page& page, const Summary& summary, bool whole);

}  // namespace tidemark::analysis::report
