// SPDX-License-Identifier: Apache-2.0
// The picture for pages that cannot hold a page: a README, an issue. Its background is its own, so that it can be read
// on light and dark ones.
#include <fmt/core.h>

#include <algorithm>

#include "analysis/report/markup.h"
#include "analysis/report/savings.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr int kWidth = 980, kRow = 22, kTop = 74, kNames = 210, kBars = 530, kBytes = 840, kBatch = 950;

std::string words(int x, int y, std::string_view anchor, std::string_view text, std::string_view more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, escaped(text));
}

std::string bars(const SavingsRow& row, int y, double pixels_per_byte) {
  std::string text;
  double x = kNames + 10;
  for (KindColour const& kind : kKindColours)
    for (auto const& [name, bytes] : row.peak_by_kind) {
      if (name != kind.name) continue;
      double const width = static_cast<double>(bytes) * pixels_per_byte;
      text += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"15\" fill=\"{}\"><title>{}: {}</title></rect>\n", x, y,
          width, kind.colour, kind.name, bytes_text(bytes));
      x += width;
    }
  return text;
}

std::string legend(const Savings& s) {
  std::string text;
  int x = 16;
  for (KindColour const& kind : kinds_in(s)) {
    text += fmt::format("<rect x=\"{}\" y=\"48\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, kind.colour);
    text += words(x + 14, 57, "start", kind.name, " fill=\"#656d76\" font-size=\"11\"");
    x += 24 + static_cast<int>(kind.name.size()) * 6;
  }
  return text;
}

}  // namespace

std::string savings_svg(const Savings& s) {
  std::uint64_t most = 1;
  for (SavingsRow const& row : s.rows) most = std::max(most, row.peak_live_bytes);
  double const pixels_per_byte = kBars / static_cast<double>(most);
  int const height = kTop + static_cast<int>(s.rows.size()) * kRow + 16;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"12\" fill=\"#1b1f24\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, height);
  text += words(16, 26, "start", "tidemark savings: " + savings_title(s), " font-size=\"15\" font-weight=\"bold\"");
  text += legend(s);
  text += words(kBytes, 57, "end", "peak live", " fill=\"#656d76\"");
  text += words(kBatch, 57, "end", "largest batch", " fill=\"#656d76\"");
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    SavingsRow const& row = s.rows[i];
    int const y = kTop + static_cast<int>(i) * kRow;
    SavingsWords const w = savings_words(row, Unit::Own);
    text += words(kNames, y + 12, "end", row.trick) + bars(row, y, pixels_per_byte);
    text += words(kBytes, y + 12, "end", w.live) + words(kBatch, y + 12, "end", w.batch, " font-weight=\"bold\"");
  }
  return text + "</svg>\n";
}

}  // namespace tidemark::analysis::report
