// SPDX-License-Identifier: Apache-2.0
// A made trace, read into a history or a summary.
#pragma once
#include <gtest/gtest.h>

#include "analysis/history.h"
#include "analysis/summarize.h"
#include "tests/support/trace_maker.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::analysis {

using trace::Class;
using trace::Kind;
using trace::Phase;
using trace::TraceMaker;

inline History history_of(const TraceMaker& maker) {
  trace::Folder const folder;
  maker.save(folder.file("a.tide"));
  return read_history(trace::read_back(folder.file("a.tide")));
}

inline Result<Summary> ask(const TraceMaker& maker, const Question& question = {}) {
  trace::Folder const folder;
  maker.save(folder.file("a.tide"));
  return summarize(trace::read_back(folder.file("a.tide")), question);
}

inline Summary summary_of(const TraceMaker& maker, const Question& question = {}) {
  auto summary = ask(maker, question);
  EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().what);
  return summary.ok() ? std::move(*summary) : Summary{};
}

inline std::uint64_t sum(const std::vector<Row>& rows) {
  std::uint64_t total = 0;
  for (Row const& row : rows) total += row.live_bytes;
  return total;
}

// The live bytes of a row; 0 where there is none.
inline std::uint64_t of(const std::vector<Row>& rows, std::string_view name) {
  for (Row const& row : rows)
    if (row.name == name) return row.live_bytes;
  return 0;
}

}  // namespace tidemark::analysis
