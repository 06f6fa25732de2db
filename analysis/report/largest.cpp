// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/largest.h"

#include <fmt/core.h>

#include <algorithm>

#include "analysis/report/table.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::size_t kLongestName = 20;

struct Property {
  Column column;
  std::vector<std::string> cells;
  int worth = 0;  // 0 never gives way

  std::size_t width() const {
    std::size_t width = columns(column.title);
    for (std::string const& cell : cells) width = std::max(width, columns(cell));
    return width + 2;
  }
};

template <class F>
Property property(const Anatomy& a, Column column, int worth, F text) {
  Property p{.column = column, .cells = {}, .worth = worth};
  for (BlockRow const& b : a.largest) p.cells.push_back(text(b));
  return p;
}

std::vector<Property> properties(const Anatomy& a, bool unicode) {
  auto const any = [&](auto f) { return std::any_of(a.largest.begin(), a.largest.end(), f); };
  std::vector<Property> all;
  if (any([](const BlockRow& b) { return b.layer != "(unscoped)"; }))
    all.push_back(property(a, {"layer", false}, 0, [](const BlockRow& b) { return clean(b.layer); }));
  else
    all.push_back(
        property(a, {"address", false}, 0, [](const BlockRow& b) { return fmt::format("{:#x}", b.address); }));
  all.push_back(property(a, {"live"}, 0, [](const BlockRow& b) { return bytes_text(b.live_bytes); }));
  if (any([](const BlockRow& b) { return !b.name.empty(); }))
    all.push_back(property(a, {"name", false}, 2, [&](const BlockRow& b) {
      return b.name.empty() ? std::string("-") : fit(clean(b.name), kLongestName, unicode);
    }));
  if (any([](const BlockRow& b) { return b.kind != "other"; }))
    all.push_back(property(a, {"kind", false}, 4, [](const BlockRow& b) { return b.kind; }));
  if (any([](const BlockRow& b) { return b.device != 0; }))
    all.push_back(property(a, {"device"}, 1, [](const BlockRow& b) { return std::to_string(b.device); }));
  if (any([](const BlockRow& b) { return b.step.has_value(); }))
    all.push_back(property(a, {"step"}, 3,
                           [](const BlockRow& b) { return b.step ? std::to_string(*b.step) : std::string("-"); }));
  all.push_back(property(a, {"since"}, 0, [](const BlockRow& b) { return instant_text(b.born_ns); }));
  return all;
}

// The first column is made to fit by the table.
void make_room(std::vector<Property>& all, std::size_t width) {
  constexpr std::size_t kFirst = 2 + 8;
  for (;;) {
    std::size_t sum = kFirst;
    for (std::size_t i = 1; i < all.size(); ++i) sum += all[i].width();
    auto const least = std::min_element(all.begin(), all.end(), [](const Property& a, const Property& b) {
      return std::pair(a.worth == 0, a.worth) < std::pair(b.worth == 0, b.worth);
    });
    if (sum <= width || least->worth == 0) return;
    all.erase(least);
  }
}

}  // namespace

void write_largest(Page& page, const Anatomy& a, std::string_view when) {
  if (a.largest.empty()) return;
  std::vector<Property> all = properties(a, page.options().unicode);
  make_room(all, page.options().width);
  page.heading("Largest blocks", when);
  std::vector<Column> columns;
  columns.reserve(all.size());
  for (Property const& p : all) columns.push_back(p.column);
  Table table(page, columns);
  for (std::size_t i = 0; i < a.largest.size(); ++i) {
    std::vector<std::string> cells;
    cells.reserve(all.size());
    for (Property const& p : all) cells.push_back(p.cells[i]);
    table.row(std::move(cells));
  }
  table.print();
}

}  // namespace tidemark::analysis::report
