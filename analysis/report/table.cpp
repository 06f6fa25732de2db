// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/table.h"

#include <algorithm>

#include "analysis/report/shorten.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::size_t kIndent = 2, kBetween = 2, kNarrowestName = 8;

}  // namespace

void Table::row(std::vector<std::string> cells, Bar bar) {
  lines_.push_back({std::move(cells), bar, {}});
}
void Table::row(std::vector<std::string> cells, std::string remark) {
  lines_.push_back({std::move(cells), {}, std::move(remark)});
}

std::size_t Table::room_beside(std::size_t bar_width) const {
  std::size_t tail = 0;
  for (Line const& l : lines_) tail = std::max(tail, l.bar.whole != 0 ? bar_width : columns(l.remark));
  std::size_t rest = kIndent + (tail == 0 ? 0 : kBetween + tail);
  for (std::size_t c = 1; c < columns_.size(); ++c) rest += kBetween + widths_[c];
  std::size_t const total = page_.options().width;
  return total > rest + kNarrowestName ? total - rest : kNarrowestName;
}

void Table::fit_names() {
  bool const unicode = page_.options().unicode;
  std::vector<std::string> names, shorter;
  for (Line const& l : lines_) names.push_back(l.cells[0]);
  auto const width_of = [](const std::vector<std::string>& texts) {
    std::size_t width = 0;
    for (std::string const& text : texts) width = std::max(width, columns(text));
    return width;
  };
  for (std::size_t const most : {page_.bar_width(), std::size_t{12}, std::size_t{6}, std::size_t{0}}) {
    bar_width_ = std::min(most, page_.bar_width());
    shorter = without_what_is_shared(names, {room_beside(bar_width_), unicode});
    if (width_of(shorter) <= room_beside(bar_width_)) break;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i].cells[0] = shorter[i];
  widths_[0] = std::min(std::max(columns(columns_[0].title), width_of(shorter)), room_beside(bar_width_));
}

std::string Table::tail_of(const Line& l) const {
  return l.bar.whole != 0 ? page_.bar(l.bar.part, l.bar.whole, bar_width_) : page_.in(Ink::Dim, l.remark);
}

void Table::print() {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns(columns_[c].title);
    for (Line const& l : lines_) width = std::max(width, columns(l.cells[c]));
    widths_.push_back(width);
  }
  fit_names();
  auto const put = [&](auto text_of, const std::string& tail, Ink ink) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      std::string const text = fit(text_of(c), widths_[c], page_.options().unicode);
      line += std::string(c == 0 ? kIndent : kBetween, ' ');
      line += columns_[c].right ? pad_left(text, widths_[c]) : pad_right(text, widths_[c]);
    }
    if (tail.empty())
      while (line.back() == ' ') line.pop_back();
    page_.raw(page_.in(ink, line) + (tail.empty() ? "" : "  " + tail));
  };
  put([&](std::size_t c) { return columns_[c].title; }, {}, Ink::Dim);
  for (Line const& l : lines_) put([&](std::size_t c) { return std::string_view(l.cells[c]); }, tail_of(l), Ink::Plain);
}

}  // namespace tidemark::analysis::report
