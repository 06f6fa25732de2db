// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/shorten.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

using Names = std::vector<std::string>;

TEST(Shorten, WhatFitsStays) {
  Names const names{"encoder.0.attn", "encoder.1.attn", "(unscoped)"};
  EXPECT_EQ(without_what_is_shared(names, {.columns = 14}), names);
}

TEST(Shorten, TheNumberThatDiffersIsKeptAndWhatAllShareGoes) {
  std::string const tail = ".attention.self_attention.query_key_value.projection";
  Names const names{"transformer.encoder.block.29" + tail, "transformer.encoder.block.3" + tail, "head"};
  EXPECT_EQ(without_what_is_shared(names, {.columns = 40}),
            (Names{"…block.29…query_key_value.projection", "…block.3…query_key_value.projection", "head"}));
  EXPECT_EQ(without_what_is_shared(names, {.columns = 12, .unicode = false}),
            (Names{"..block.29..", "..block.3..", "head"}));
}

TEST(Shorten, NamesThatDifferStayDifferent) {
  Names const names{"left.side.common.1", "left.side.common.2", "right.side.common.1", "right.side.common.2"};
  Names const shorter = without_what_is_shared(names, {.columns = 4});
  EXPECT_EQ(std::set<std::string>(shorter.begin(), shorter.end()).size(), 4u);
  for (std::string const& name : shorter) EXPECT_LT(columns(name), 18u) << name;
}

TEST(Shorten, WhatNothingIsSharedWithStays) {
  Names const names{"a.very.long.name.of.a.layer", "b"};
  EXPECT_EQ(without_what_is_shared(names, {.columns = 5}), names);
  Names const odd{"", ".", "...", "1.2.3", "12345678.", ".12345678", "x..y"};
  EXPECT_EQ(without_what_is_shared(odd, {.columns = 100}), odd);
  EXPECT_EQ(without_what_is_shared(odd, {.columns = 0}).size(), odd.size());
}

}  // namespace
}  // namespace tidemark::analysis::report
