// SPDX-License-Identifier: Apache-2.0
// A table of a text report: columns as wide as they must be, the first one as wide as the others leave.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/page.h"

namespace tidemark::analysis::report {

struct Column {
  std::string_view title;
  bool right = true;
};

struct Bar {
  std::uint64_t part = 0, whole = 0;
};

// Where names of the first column are too long, they lose what they share; then bars get narrower; then names are cut.
class Table {
 public:
  Table(Page& page, std::vector<Column> columns) : page_(page), columns_(std::move(columns)) {}
  // One cleaned text per column, and what is printed behind them.
  void row(std::vector<std::string> cells, Bar bar = {});
  void row(std::vector<std::string> cells, std::string remark);
  void print();

 private:
  struct Line {
    std::vector<std::string> cells;
    Bar bar;
    std::string remark;
  };
  // Columns that the first one may take beside bars of this width.
  std::size_t room_beside(std::size_t bar_width) const;
  void fit_names();
  std::string tail_of(const Line& line) const;

  Page& page_;
  std::vector<Column> columns_;
  std::vector<Line> lines_;
  std::vector<std::size_t> widths_;
  std::size_t bar_width_ = 0;
};

}  // namespace tidemark::analysis::report
