// SPDX-License-Identifier: Apache-2.0
// What to type after a report: never what was just asked, nor what would show the same.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/text.h"

namespace tidemark::analysis::report {

using Hint = std::pair<std::string, std::string>;  // what to type, and what it is for

// At most three, the most useful for this trace first.
std::vector<Hint> next_hints(const Summary& summary, const TextOptions& options);

}  // namespace tidemark::analysis::report
