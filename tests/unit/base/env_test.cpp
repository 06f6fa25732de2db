// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tidemark {
namespace {

using namespace literals;

constexpr const char* kName = "TIDEMARK_TEST_OPTION";

class Env : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
  static void set(const char* text) { setenv(kName, text, 1); }
};

TEST_F(Env, UnsetAndEmptyMeanTheDefault) {
  EXPECT_FALSE(env_text(kName).has_value());
  EXPECT_EQ(env_count(kName, 7).value_or(0), 7u);
  set("");
  EXPECT_FALSE(env_text(kName).has_value());
  EXPECT_TRUE(env_flag(kName, true).value_or(false));
  EXPECT_EQ(env_bytes(kName, 3_MiB).value_or({}), 3_MiB);
  EXPECT_EQ(env_duration_ns(kName, 5).value_or(0), 5u);
}

TEST_F(Env, SwitchesHaveFourSpellingsEach) {
  for (const char* text : {"1", "on", "yes", "true"}) {
    set(text);
    EXPECT_TRUE(env_flag(kName, false).value_or(false)) << text;
  }
  for (const char* text : {"0", "off", "no", "false"}) {
    set(text);
    EXPECT_FALSE(env_flag(kName, true).value_or(true)) << text;
  }
}

TEST_F(Env, ReadsNumbersSizesAndDurations) {
  set("18446744073709551615");
  EXPECT_EQ(env_count(kName, 0).value_or(0), ~std::uint64_t{0});
  set("8GiB");
  EXPECT_EQ(env_bytes(kName, {}).value_or({}), 8_GiB);
  set("100us");
  EXPECT_EQ(env_duration_ns(kName, 0).value_or(0), 100'000u);
}

TEST_F(Env, ABadValueIsAnErrorThatNamesTheVariable) {
  set("quite");
  for (Error const& error : {env_flag(kName, false).error(), env_count(kName, 0).error(), env_bytes(kName, {}).error(),
                             env_duration_ns(kName, 0).error()}) {
    EXPECT_EQ(error.what.rfind("TIDEMARK_TEST_OPTION: ", 0), 0u) << error.what;
    EXPECT_NE(error.what.find("'quite'"), std::string::npos) << error.what;
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST_F(Env, CountsAreWholeAndNotNegative) {
  for (const char* text : {"-1", "1.5", "7 ", "18446744073709551616"}) {
    set(text);
    EXPECT_FALSE(env_count(kName, 0).ok()) << text;
  }
}

TEST(ParseDuration, KnowsFourUnitsAndTakesAPlainNumberAsNanoseconds) {
  EXPECT_EQ(parse_duration_ns("250").value_or(0), 250u);
  EXPECT_EQ(parse_duration_ns("250ns").value_or(0), 250u);
  EXPECT_EQ(parse_duration_ns("1.5us").value_or(0), 1500u);
  EXPECT_EQ(parse_duration_ns("2ms").value_or(0), 2'000'000u);
  EXPECT_EQ(parse_duration_ns("1s").value_or(0), 1'000'000'000u);
}

TEST(ParseDuration, RefusesOtherText) {
  for (const char* text : {"", "s", "-1ms", "1 ms", "1min", "nan", "inf", "1e9", "99999999999s"}) {
    EXPECT_FALSE(parse_duration_ns(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tidemark
