// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/words.h"

#include <gtest/gtest.h>

namespace tidemark::analysis::report {
namespace {

TEST(Words, WhatATerminalWouldObeyIsTakenOut) {
  EXPECT_EQ(clean("a\033[31mb\nc\td\x7f"), "a [31mb c d ");
  EXPECT_EQ(clean("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(clean("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(clean("\xc3"), "\xef\xbf\xbd") << "cut off";
  EXPECT_EQ(columns(clean("\xc0\xaf")), 2u) << "a slash written too long";
  EXPECT_EQ(columns(clean("\xed\xa0\x80")), 3u) << "half of a pair";
  EXPECT_EQ(columns(clean("\xc2\x9b"
                          "31m")),
            5u)
      << "an escape of eight bits";
}

TEST(Words, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(fit("encoder.layers.11.attention.output", 20, false), "encode..ntion.output");
  EXPECT_EQ(fit("encoder.layers.11.attention.output", 20, true), "encode\u2026ention.output");
  EXPECT_EQ(fit("short", 20, true), "short");
  EXPECT_EQ(fit("short", 2, false), "sh");
  EXPECT_EQ(columns(fit("\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc", 5, true)), 5u);
}

TEST(Words, NumbersReadWell) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(count_text(1, "event", "events"), "1 event");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(12'500'000), "12.5 ms");
  EXPECT_EQ(duration_text(1'204'000'000), "1.204 s");
  EXPECT_EQ(duration_text(61'000'000'000), "1 min 01 s");
  EXPECT_EQ(duration_text(7'260'000'000'000), "2 h 01 min");
  EXPECT_EQ(percent_text(1, 3), "33.3 %");
  EXPECT_EQ(percent_text(1, 0), "-");
}

TEST(Words, CommandsCanBeTypedAgain) {
  EXPECT_EQ(command_text({"./train", "--lr=0.1", "a b", "it's", ""}), "./train --lr=0.1 'a b' 'it'\\''s' ''");
}

}  // namespace
}  // namespace tidemark::analysis::report
