// SPDX-License-Identifier: Apache-2.0
// A summary for programs. The keys are stable (docs/report-json.md): they may be added to, never renamed. What a trace
// does not tell is null, never 0.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/text.h"
#include "analysis/summary.h"

namespace tidemark::analysis::report {

struct JsonOptions {
  std::optional<By> by;            // adds the rows of one more way of looking
  std::optional<std::size_t> top;  // rows of the lists; all without it
  bool timeline = false;
};

std::string json_report(const Summary& summary, const JsonOptions& options);
// Several traces: an object for each, and which has the highest peak.
std::string json_overview(const std::vector<Summary>& summaries, const JsonOptions& options);

}  // namespace tidemark::analysis::report
