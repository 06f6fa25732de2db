// SPDX-License-Identifier: Apache-2.0
// The means of a text report: colours, lines, bars and the chart of bytes over time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/text.h"

namespace tidemark::analysis::report {

enum class Ink : std::uint8_t { Plain, Bold, Dim, Bar, Warning, Bad };

class Page {
 public:
  explicit Page(const TextOptions& options) : o_(options) {}

  const TextOptions& options() const { return o_; }
  // A cleaned text in a colour, where colours are wanted.
  std::string in(Ink ink, std::string_view text) const;
  // Lines are broken at spaces so that they fit; those that follow the first are indented by `hang` columns.
  void line(std::string_view text, std::size_t hang = 2, Ink ink = Ink::Plain);
  void raw(std::string_view text) { out_.append(text).push_back('\n'); }
  void gap();
  void heading(std::string_view title, std::string_view remark = {});
  // So much of `whole`, in at most `width` columns; bar_width() is what there usually is room for.
  std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width) const;
  std::size_t bar_width() const;
  // Live bytes as a filled area, reserved bytes as a shade behind it.
  struct Span {
    std::uint64_t begin_ns = 0, end_ns = 0;
  };
  void chart(const std::vector<TimelinePoint>& points, std::uint64_t peak_ns, Span span);
  // Points that a chart has room for.
  static std::size_t chart_points(const TextOptions& options);
  std::string take() { return std::move(out_); }

 private:
  std::string chart_row(const std::vector<TimelinePoint>& points, std::size_t row, std::uint64_t top) const;
  void chart_axis(std::size_t points, std::uint64_t peak_ns, Span span);

  TextOptions o_;
  std::string out_;
};

}  // namespace tidemark::analysis::report
