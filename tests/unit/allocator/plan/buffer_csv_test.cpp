// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/buffer_csv.h"

#include <gtest/gtest.h>

namespace tidemark::plan {
namespace {

void expect_error(std::string_view text, std::string_view says) {
  auto const table = read_buffers(text);
  ASSERT_FALSE(table.ok()) << text;
  EXPECT_NE(table.error().what.find(says), std::string::npos) << table.error().what;
  EXPECT_FALSE(table.error().hint.empty());
}

TEST(BufferCsv, ColumnsMayComeInAnyOrderAmongOthers) {
  auto const table = read_buffers("size,note,upper,id,lower\n4,x,3,b1,0\n8,,9,b2,3\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->ids, (std::vector<std::string>{"b1", "b2"}));
  EXPECT_EQ(table->buffers[1].lower, 3U);
  EXPECT_EQ(table->buffers[1].upper, 9U);
  EXPECT_EQ(table->buffers[1].size_bytes, 8U);
}

TEST(BufferCsv, SpacesBlankLinesMarksAndMissingLastLineEndDoNotMatter) {
  auto const table = read_buffers("\xef\xbb\xbfid, lower ,upper,size\r\n\r\n a , 0,\t1,2 \r\n\nb,0,1,2");
  ASSERT_TRUE(table.ok()) << table.error().what;
  EXPECT_EQ(table->ids, (std::vector<std::string>{"a", "b"}));
}

TEST(BufferCsv, QuotedIdsComeBackAsTheyWere) {
  std::string const text = "id,lower,upper,size,offset\n\"a,\"\"b\"\" c\",0,1,2,7\n";
  auto const table = read_buffers(text);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->ids[0], "a,\"b\" c");
  EXPECT_EQ(write_buffers(*table, {.offsets = {7}}), text);
}

TEST(BufferCsv, ErrorsNameTheLine) {
  expect_error("", "nothing");
  expect_error("\n \n", "nothing");
  expect_error("id,lower,upper\n", "line 1: no column size");
  expect_error("id,lower,upper,size,size\n", "more than one column size");
  expect_error("id,lower,upper,size\na,0,1\n", "line 2: there are 3 fields");
  expect_error("id,lower,upper,size\na,0,1,2\nb,0,1,-2\n", "line 3: size is '-2'");
  expect_error("id,lower,upper,size\na,0,1,2.5\n", "'2.5'");
  expect_error("id,lower,upper,size\na,0,1,99999999999999999999\n", "not a whole number");
  expect_error("id,lower,upper,size\na,,1,2\n", "lower is ''");
  expect_error("id,lower,upper,size\na,1,1,2\n", "line 2: the buffer ends before it begins");
  expect_error("id,lower,upper,size\na,0,1,2\n\na,0,1,2\n", "line 4: another buffer has the id 'a'");
  expect_error("id,lower,upper,size\n\"a,0,1,2\n", "line 2: a quote is not closed");
  expect_error("id,lower,upper,size\n\"a\"b,0,1,2\n", "quote");
  expect_error("\"id\n", "no column id");
}

TEST(BufferCsv, WhatATerminalWouldObeyIsNotRepeated) {
  expect_error("id,lower,upper,size\na,0,1,\x1b[2J\n", "'?[2J'");
}

}  // namespace
}  // namespace tidemark::plan
