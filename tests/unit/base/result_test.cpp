// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tidemark {
namespace {

Error corrupt() {
  return {Errc::Corrupt, "x.tide: not a trace", "record one"};
}

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::InvalidArgument, std::to_string(n) + " is odd", ""};
  return n / 2;
}

Result<std::string> quarter_as_text(int n) {
  TIDEMARK_TRY(int const once, half(n));
  TIDEMARK_TRY(int const twice, half(once));
  return std::to_string(twice);
}

TEST(Result, HoldsAValue) {
  Result<int> const result = half(8);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value_or(9), 4);
}

TEST(Result, HoldsAnErrorWithAWayOut) {
  Result<int> const result = corrupt();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::Corrupt);
  EXPECT_EQ(result.error().what, "x.tide: not a trace");
  EXPECT_EQ(result.error().hint, "record one");
  EXPECT_EQ(result.value_or(9), 9);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 5);
  std::unique_ptr<int> const taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, OfVoidIsSuccessOrAnError) {
  Result<void> const fine;
  Result<void> const bad = corrupt();
  EXPECT_TRUE(fine.ok());
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Errc::Corrupt);
}

TEST(Try, GivesTheValueOrReturnsTheFirstError) {
  EXPECT_EQ(quarter_as_text(12).value_or(""), "3");
  EXPECT_EQ(quarter_as_text(7).error().what, "7 is odd");
  EXPECT_EQ(quarter_as_text(6).error().what, "3 is odd");
}

}  // namespace
}  // namespace tidemark
