// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 3> kCommands{"run", "report", "devices"};

TEST(Nearest, TheWordThatWasProbablyMeant) {
  EXPECT_EQ(nearest("reprot", kCommands), "report");
  EXPECT_EQ(nearest("rpeort", kCommands), "report");
  EXPECT_EQ(nearest("rep", kCommands), "report");
  EXPECT_EQ(nearest("Devices", kCommands), "devices");
  EXPECT_EQ(nearest("ru", kCommands), "run");
}

TEST(Nearest, AnotherWordIsNone) {
  for (std::string_view const word : {"", "nonsense", "view", "x"}) EXPECT_EQ(nearest(word, kCommands), "") << word;
  EXPECT_EQ(nearest(std::string(100000, 'r'), kCommands), "");
}

TEST(Nearest, VariablesThatAreNotKnownAreNamed) {
  constexpr std::array<std::string_view, 2> kKnown{"TIDEMARK_OUT", "TIDEMARK_LIMIT"};
  const char* const environment[] = {"TIDEMARK_OUT=x", "TIDEMARK_LIMITS=1GiB", "OTHER=1", "TIDEMARK_COLOUR=1", nullptr};
  auto const unknown = unknown_variables(environment, "TIDEMARK_", kKnown);
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].name, "TIDEMARK_LIMITS");
  EXPECT_EQ(unknown[0].nearest, "TIDEMARK_LIMIT");
  EXPECT_EQ(unknown[1].nearest, "");
}

}  // namespace
}  // namespace tidemark
