// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/json_array.h"

#include <gtest/gtest.h>

namespace tidemark::interpose {
namespace {

using namespace std::string_view_literals;

TEST(JsonArray, QuotesWords) {
  EXPECT_EQ(json_array(""sv), "[]");
  EXPECT_EQ(json_array("a\0"sv), R"(["a"])");
  EXPECT_EQ(json_array("./train\0--batch\0\0x\0"sv), R"(["./train","--batch","","x"])");
  EXPECT_EQ(json_array("no end"sv), R"(["no end"])") << "the system cuts a command line that was overwritten";
}

TEST(JsonArray, EscapesWhatJsonReserves) {
  EXPECT_EQ(json_array("a\"b\\c\0"sv), R"(["a\"b\\c"])");
  EXPECT_EQ(json_array("\n\t\x01\x1f\x7f\0"sv), "[\"\\u000a\\u0009\\u0001\\u001f\x7f\"]");
}

TEST(JsonArray, KeepsCharactersAndReplacesWhatIsNone) {
  struct Row {
    std::string_view word, expected;
  };
  for (Row const& row : {
           Row{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a"},
           Row{"\xff", "?"},
           Row{"a\x80z", "a?z"},
           Row{"\xc3", "?"},
           Row{"\xe2\x82", "??"},
           Row{"\xc3\xc3\xa4", "?\xc3\xa4"},
           Row{"\xc0\x80", "??"},                // overlong
           Row{"\xe0\x80\x80", "???"},           // overlong
           Row{"\xf0\x80\x80\x80", "????"},      // overlong
           Row{"\xed\xa0\x80", "???"},           // half of a UTF-16 pair
           Row{"\xed\x9f\xbf", "\xed\x9f\xbf"},  // the last before those
           Row{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
           Row{"\xf4\x90\x80\x80", "????"},  // beyond Unicode
           Row{"\xf8\x88\x80\x80\x80", "?????"},
       }) {
    std::string expected = "[\"";
    for (char const c : row.expected) expected += c == '?' ? std::string("\xef\xbf\xbd") : std::string(1, c);
    EXPECT_EQ(json_array(row.word), expected + "\"]");
  }
}

}  // namespace
}  // namespace tidemark::interpose
