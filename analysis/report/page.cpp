// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::size_t kChartRows = 6;
constexpr std::size_t kLabel = 12;  // columns before the chart's axis

// Eighths of a cell, from the bottom and from the left.
constexpr std::array<std::string_view, 9> kUp{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kRight{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

std::string_view escape(Ink ink) {
  switch (ink) {
    case Ink::Plain: return "";
    case Ink::Bold: return "\033[1m";
    case Ink::Dim: return "\033[2m";
    case Ink::Bar: return "\033[36m";
    case Ink::Warning: return "\033[33m";
    case Ink::Bad: return "\033[1;31m";
  }
  return "";
}

// part * n / whole in eighths, without overflow; something is at least one eighth.
std::size_t eighths(std::uint64_t part, std::uint64_t whole, std::size_t n) {
  if (whole == 0 || part == 0) return 0;
  double const share = static_cast<double>(std::min(part, whole)) / static_cast<double>(whole);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(8 * n))));
}

}  // namespace

std::string Page::in(Ink ink, std::string_view text) const {
  if (!o_.colour || ink == Ink::Plain || text.empty()) return std::string(text);
  return std::string(escape(ink)) + std::string(text) + "\033[0m";
}

void Page::line(std::string_view text, std::size_t hang, Ink ink) {
  std::size_t indent = 0;
  while (!text.empty()) {
    std::size_t const room = o_.width - indent;
    std::size_t length = text.size();
    if (columns(text) > room) {
      // The last space that still fits; a word longer than a line is cut.
      length = 0;
      for (std::size_t i = 0; i < text.size() && columns(text.substr(0, i)) <= room; ++i)
        if (text[i] == ' ' && i > 0) length = i;
      if (length == 0)
        while (length < text.size() && (columns(text.substr(0, length)) < room)) ++length;
    }
    std::string_view const words = text.substr(0, length);
    raw(std::string(indent, ' ') + in(ink, words.substr(0, words.find_last_not_of(' ') + 1)));
    text.remove_prefix(length);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    indent = std::min(hang, o_.width / 2);
  }
}

void Page::gap() {
  if (!out_.empty()) out_ += '\n';
}

void Page::heading(std::string_view title, std::string_view remark) {
  gap();
  bool const fits = columns(title) + 2 + columns(remark) <= o_.width;
  raw(in(Ink::Bold, title) + (remark.empty() || !fits ? "" : "  " + in(Ink::Dim, remark)));
  if (!fits) line("  " + std::string(remark), 2, Ink::Dim);
}

// A narrow terminal has room for figures only.
std::size_t Page::bar_width() const {
  return o_.width >= 90 ? 24 : o_.width >= 80 ? 12 : 0;
}

std::string Page::bar(std::uint64_t part, std::uint64_t whole, std::size_t width) const {
  if (width == 0) return {};
  std::size_t const n = eighths(part, whole, width);
  if (!o_.unicode) return in(Ink::Bar, std::string((n + 7) / 8, '#'));
  std::string text;
  for (std::size_t i = 0; i < n / 8; ++i) text += kRight[8];
  text += kRight[n % 8];
  return in(Ink::Bar, text);
}

std::size_t Page::chart_points(const TextOptions& options) {
  return options.width - kLabel - 1;
}

// One row of cells, counted from the bottom; `top` is what the whole height stands for.
std::string Page::chart_row(const std::vector<TimelinePoint>& points, std::size_t row, std::uint64_t top) const {
  std::string line, run;
  Ink ink = Ink::Plain;
  auto const put = [&](Ink its, std::string_view cell) {
    if (its != ink) line += in(ink, run);
    if (its != ink) run.clear();
    ink = its;
    run += cell;
  };
  for (TimelinePoint const& p : points) {
    std::size_t const live = eighths(p.live_bytes, top, kChartRows);
    std::size_t const reserved = eighths(p.reserved_bytes, top, kChartRows);
    std::size_t const filled = live <= 8 * row ? 0 : std::min<std::size_t>(live - 8 * row, 8);
    if (filled > 0)
      put(Ink::Bar, o_.unicode ? kUp[filled] : "#");
    else if (reserved >= 8 * row + 4)
      put(Ink::Dim, o_.unicode ? "░" : ".");
    else
      put(Ink::Plain, " ");
  }
  if (ink == Ink::Plain) run.clear();
  return line + in(ink, run);
}

void Page::chart(const std::vector<TimelinePoint>& points, std::uint64_t peak_ns, Span span) {
  std::uint64_t top = 0;
  for (TimelinePoint const& p : points) top = std::max(top, p.reserved_bytes);
  if (points.empty() || points.size() > chart_points(o_) || top == 0) return;
  // Few points are columns of some width.
  std::size_t const each = std::max<std::size_t>(1, chart_points(o_) / points.size());
  std::vector<TimelinePoint> cells;
  for (TimelinePoint const& p : points) cells.insert(cells.end(), each, p);
  gap();
  for (std::size_t row = kChartRows; row-- > 0;) {
    std::string const label = row + 1 == kChartRows ? bytes_text(top) : row == 0 ? "0" : "";
    raw(pad_left(label, kLabel - 1) + (o_.unicode ? " │" : " |") + chart_row(cells, row, top));
  }
  chart_axis(cells.size(), peak_ns, span);
}

// The peak's place, the beginning and the end.
void Page::chart_axis(std::size_t points, std::uint64_t peak_ns, Span span) {
  std::uint64_t const length_ns = std::max(span.end_ns, span.begin_ns) - span.begin_ns;
  std::uint64_t const since_ns = std::max(peak_ns, span.begin_ns) - span.begin_ns;
  double const share = length_ns == 0 ? 0 : static_cast<double>(since_ns) / static_cast<double>(length_ns);
  auto const place = std::min(points - 1, static_cast<std::size_t>(share * static_cast<double>(points)));
  std::string const mark = o_.unicode ? "▲" : "^", when = "peak at " + duration_text(peak_ns);
  bool const fits = place + 2 + when.size() <= points;
  std::size_t const before = kLabel + 1 + place;
  raw(in(Ink::Dim, fits ? std::string(before, ' ') + mark + " " + when : pad_left(when + " " + mark, before + 1)));
  std::string const begin = span.begin_ns == 0 ? "0 s" : "the last " + duration_text(length_ns);
  std::string const end = duration_text(span.end_ns);
  std::string const legend = o_.unicode ? "█ live  ░ reserved" : "# live  . reserved";
  std::size_t const room = points - std::min(points, begin.size() + end.size());
  std::size_t const space = columns(legend) + 4 <= room ? (room - columns(legend)) / 2 : room;
  std::string axis = std::string(kLabel + 1, ' ') + begin + std::string(space, ' ');
  if (space < room) axis += legend;
  raw(in(Ink::Dim, pad_right(axis, kLabel + 1 + begin.size() + room) + end));
}

}  // namespace tidemark::analysis::report
