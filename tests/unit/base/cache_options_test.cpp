// SPDX-License-Identifier: Apache-2.0
#include "base/cache_options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tidemark {
namespace {

using namespace literals;

struct CacheOptionsTest : testing::Test {
  ~CacheOptionsTest() override {
    for (const char* const name :
         {"TIDEMARK_ROUND", "TIDEMARK_CACHE_CAP", "TIDEMARK_TRIM_AFTER", "TIDEMARK_POISON", "TIDEMARK_WHOLE_BLOCKS"})
      unsetenv(name);
  }
  // What is wrong with a value; empty: nothing.
  static std::string complaint(const char* name, const char* value) {
    setenv(name, value, 1);
    auto const options = CacheOptions::from_environment();
    unsetenv(name);
    return options.ok() ? "" : options.error().what + " (" + options.error().hint + ")";
  }
};

TEST_F(CacheOptionsTest, NothingIsAskedForByDefault) {
  auto const options = CacheOptions::from_environment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rounding, 512_B);
  EXPECT_FALSE(options->cap.has_value());
  EXPECT_EQ(options->trim_after_ns, 0u);
  EXPECT_FALSE(options->poison || options->whole_blocks || options->about_served_memory());
}

TEST_F(CacheOptionsTest, EveryOneIsRead) {
  setenv("TIDEMARK_ROUND", "64KiB", 1);
  setenv("TIDEMARK_CACHE_CAP", "0", 1);
  setenv("TIDEMARK_TRIM_AFTER", "1.5s", 1);
  setenv("TIDEMARK_POISON", "1", 1);
  setenv("TIDEMARK_WHOLE_BLOCKS", "yes", 1);
  auto const options = CacheOptions::from_environment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rounding, 64_KiB);
  EXPECT_EQ(options->cap, 0_B);
  EXPECT_EQ(options->trim_after_ns, 1'500'000'000u);
  EXPECT_TRUE(options->poison && options->whole_blocks && options->about_served_memory());
}

TEST_F(CacheOptionsTest, WhatCannotBeIsNamedWithAWayOut) {
  for (const char* const size : {"1000", "256", "0", "3KiB", "128MiB"})
    EXPECT_EQ(complaint("TIDEMARK_ROUND", size), "TIDEMARK_ROUND: sizes cannot be rounded to multiples of '" +
                                                     std::string(size) +
                                                     "' (a power of two from 512 B to 64.00 MiB: 4KiB, 64KiB, 2MiB)");
  EXPECT_NE(complaint("TIDEMARK_ROUND", "many").find("TIDEMARK_ROUND: not a size: 'many'"), std::string::npos);
  EXPECT_NE(complaint("TIDEMARK_CACHE_CAP", "-1").find("TIDEMARK_CACHE_CAP: "), std::string::npos);
  EXPECT_NE(complaint("TIDEMARK_TRIM_AFTER", "10").find("too short a time: '10' (a millisecond or more"),
            std::string::npos);
  EXPECT_NE(complaint("TIDEMARK_TRIM_AFTER", "soon").find("not a duration"), std::string::npos);
  EXPECT_NE(complaint("TIDEMARK_POISON", "perhaps").find("not a switch"), std::string::npos);
  EXPECT_NE(complaint("TIDEMARK_WHOLE_BLOCKS", "2").find("not a switch"), std::string::npos);
}

}  // namespace
}  // namespace tidemark
