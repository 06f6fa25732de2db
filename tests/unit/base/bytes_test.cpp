// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidemark {
namespace {

using namespace literals;

static_assert(2_MiB + 1_MiB == 3_MiB);
static_assert(1_GiB - 1_MiB == 1023_MiB);
static_assert(3_KiB * 4 == 12_KiB);
static_assert(1_KiB > 1023_B);
static_assert(round_up(0, 512) == 0 && round_up(1, 512) == 512 && round_up(512, 512) == 512 &&
              round_up(513, 512) == 1024);

TEST(ParseBytes, ReadsTheWaysSizesAreWritten) {
  struct Row {
    const char* text;
    Bytes bytes;
  };
  std::vector<Row> const rows = {
      {"0", 0_B},
      {"4096", 4096_B},
      {"512B", 512_B},
      {"512MiB", 512_MiB},
      {"6GiB", 6_GiB},
      {"1TiB", 1024_GiB},
      {"1.5GB", {1500000000}},
      {"2KB", 2000_B},
      {"8G", 8_GiB},
      {"8g", 8_GiB},
      {"8gib", 8_GiB},
      {"24 GiB", 24_GiB},
      {"0.5KiB", 512_B},
      {"10.76GiB", {11553462026}},
  };
  for (auto const& row : rows) {
    auto const read = parse_bytes(row.text);
    ASSERT_TRUE(read.ok()) << row.text;
    EXPECT_EQ(read->n, row.bytes.n) << row.text;
  }
}

TEST(ParseBytes, WholeNumbersAreExactBeyondTheReachOfADouble) {
  EXPECT_EQ(parse_bytes("9007199254740993").value_or({}).n, 9007199254740993u);
  EXPECT_EQ(parse_bytes("9007199254740993B").value_or({}).n, 9007199254740993u);
}

TEST(ParseBytes, RefusesWhatIsNoSizeAndSaysHowToWriteOne) {
  for (const char* text : {"", " ", "GiB", "-1", "-1KiB", "1e3", "0x10", "1.5.2GB", "6 Gib B", "1,5GB", "nan", "inf",
                           "12 parsecs", "6GiB ", "99999999999999999999", "9300000000GB", "9223372036854775808TiB"}) {
    auto const read = parse_bytes(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Errc::InvalidArgument);
    EXPECT_NE(read.error().what.find("'" + std::string(text) + "'"), std::string::npos) << read.error().what;
    EXPECT_FALSE(read.error().hint.empty());
  }
}

TEST(FormatBytes, GivesTwoDigitsFromKibibytesOn) {
  EXPECT_EQ(format_bytes(0_B), "0 B");
  EXPECT_EQ(format_bytes(1023_B), "1023 B");
  EXPECT_EQ(format_bytes(1_KiB), "1.00 KiB");
  EXPECT_EQ(format_bytes(44_MiB), "44.00 MiB");
  EXPECT_EQ(format_bytes({11553462026}), "10.76 GiB");
  EXPECT_EQ(format_bytes({~std::uint64_t{0}}), "16.00 EiB");
}

TEST(FormatBytes, NeverShowsAThousandAndTwentyFourOfAUnit) {
  // 1048575 B is 1023.999 KiB: rounded to two digits it must go up to the next unit.
  EXPECT_EQ(format_bytes(1_MiB - 1_B), "1.00 MiB");
  EXPECT_EQ(format_bytes(1_GiB - 1_B), "1.00 GiB");
  EXPECT_EQ(format_bytes(1_MiB - 6_KiB), "1018.00 KiB");
}

}  // namespace
}  // namespace tidemark
