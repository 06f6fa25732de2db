// SPDX-License-Identifier: Apache-2.0
#include "softgpu/profiles/profiles.h"

#include <gtest/gtest.h>

namespace tidemark::softgpu {
namespace {

TEST(Profiles, TheTenCardsAreThere) {
  for (auto const* name : {"t4-16g", "rtx2080ti-11g", "rtx3060-12g", "a10-24g", "rtx4090-24g", "a100-40g", "a100-80g",
                           "h100-80g", "gtx1080ti-11g", "v100-16g"})
    EXPECT_TRUE(find_profile(name).ok()) << name;
  EXPECT_EQ(profiles().size(), 10u);
}

TEST(Profiles, TheArticlesCardHasTheArticlesCapacity) {
  EXPECT_EQ(format_bytes((*find_profile("rtx2080ti-11g"))->memory), "10.76 GiB");
}

TEST(Profiles, CardsBeforeComputeCapability75GiveTheirCapacityOnly) {
  for (Profile const& p : profiles())
    EXPECT_EQ(p.capacity_only(), p.name == "gtx1080ti-11g" || p.name == "v100-16g") << p.name;
}

TEST(Profiles, AnUnknownNameListsTheKnownOnes) {
  auto const missing = find_profile("rtx9090");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().hint.find("h100-80g"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::softgpu
