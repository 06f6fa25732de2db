// SPDX-License-Identifier: Apache-2.0
// A summary for people: what was lost first, then the peak and whose it is, and what to type next.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/summary.h"

namespace tidemark::analysis::report {

enum class By : std::uint8_t { Kind, Layer, Phase, Step, Stack };

struct TextOptions {
  std::optional<By> by;  // one table instead of the usual two
  std::size_t top = 10;  // rows of a table
  std::size_t width = 100;
  bool colour = false;
  bool unicode = true;
  // What was asked of the trace, as it was typed: what to type next goes on from there.
  std::vector<std::string> question;
};

// Points of a timeline that the report has room for.
std::size_t chart_points(const TextOptions& options);
std::string text_report(const Summary& summary, const TextOptions& options);
// Several traces: each process in a line, the one with the highest peak first. The reports follow it.
std::string text_overview(const std::vector<Summary>& summaries, const TextOptions& options);

}  // namespace tidemark::analysis::report
