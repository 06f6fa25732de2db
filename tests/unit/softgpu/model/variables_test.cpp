// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/variables.h"

#include <gtest/gtest.h>

namespace tidemark::softgpu {
namespace {

std::vector<UnknownVariable> unknown(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return unknown_variables(environment.data());
}

TEST(Variables, KnownOnesAndOthersOfTheSystemAreNotNamed) {
  EXPECT_TRUE(unknown({}).empty());
  EXPECT_TRUE(
      unknown({"HOME=/root", "SOFTGPU=1", "SOFTGPU_MEMORY=1GiB", "SOFTGPU_QUIET=", "MY_SOFTGPU_MEMROY=1"}).empty());
}

TEST(Variables, AMisspeltOneIsNamedWithTheNearest) {
  struct Row {
    const char* entry;
    const char* nearest;
  };
  for (Row const& row :
       {Row{"SOFTGPU_MEMROY=1GiB", "SOFTGPU_MEMORY"}, Row{"SOFTGPU_MEM=1GiB", "SOFTGPU_MEMORY"},
        Row{"SOFTGPU_DRYRUN=1", "SOFTGPU_DRY_RUN"}, Row{"SOFTGPU_KERNEL=x.so", "SOFTGPU_KERNELS"},
        Row{"SOFTGPU_SCHEDULER=late", "SOFTGPU_SCHEDULE"}, Row{"SOFTGPU_memory=1GiB", "SOFTGPU_MEMORY"},
        Row{"SOFTGPU_DEVICE=2", "SOFTGPU_DEVICES"}, Row{"SOFTGPU_FAULTS=oom@1", "SOFTGPU_FAULT"}}) {
    auto const found = unknown({row.entry});
    ASSERT_EQ(1u, found.size()) << row.entry;
    EXPECT_EQ(row.nearest, found[0].nearest) << row.entry;
    EXPECT_EQ(std::string(row.entry).substr(0, std::string(row.entry).find('=')), found[0].name);
  }
}

TEST(Variables, OneThatIsLikeNoneIsNamedWithoutAHint) {
  auto const found = unknown({"SOFTGPU_COLOUR=green", "SOFTGPU_="});
  ASSERT_EQ(2u, found.size());
  EXPECT_EQ("SOFTGPU_COLOUR", found[0].name);
  EXPECT_EQ("", found[0].nearest);
  EXPECT_EQ("", found[1].nearest);
}

}  // namespace
}  // namespace tidemark::softgpu
