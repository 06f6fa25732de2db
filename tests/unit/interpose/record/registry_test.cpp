// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/registry.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace tidemark::interpose {
namespace {

using trace::Class;
using trace::Space;

class RegistryTest : public testing::Test {
 protected:
  void insert(std::uint64_t address, Class block_class, std::uint64_t bytes, std::uint64_t context = 0) {
    Owned block{.size_bytes = bytes, .context = context, .block_class = block_class};
    std::optional<Owned> before;
    ASSERT_TRUE(registry.insert(address, block, before, clock));
    EXPECT_FALSE(before);
  }
  std::size_t count() {
    std::size_t blocks = 0;
    registry.for_each([&](std::uint64_t, const Owned&) { ++blocks; });
    return blocks;
  }
  Registry registry;
  trace::Clock clock = trace::Clock::pick();
};

TEST_F(RegistryTest, TakesOutWhatWasPutIn) {
  insert(0x1000, Class::Device, 10);
  insert(0x2000, Class::Device, 20);
  EXPECT_EQ(registry.take(Space::Memory, 0x1000, clock)->block.size_bytes, 10u);
  EXPECT_FALSE(registry.take(Space::Memory, 0x1000, clock));
  EXPECT_EQ(registry.find(Space::Memory, 0x2000)->size_bytes, 20u);
  EXPECT_FALSE(registry.find(Space::Memory, 0x2001));
  EXPECT_EQ(count(), 1u);
}

TEST_F(RegistryTest, OneNumberMayBeABlockInEachSpace) {
  insert(0x1000, Class::Device, 1);
  insert(0x1000, Class::Array, 2);
  insert(0x1000, Class::Physical, 3);
  insert(0x1000, Class::Reservation, 4);
  insert(0x1000, Class::Mapping, 5);
  EXPECT_EQ(count(), 5u);
  EXPECT_EQ(registry.take(Space::Reservation, 0x1000, clock)->block.size_bytes, 4u);
  EXPECT_EQ(registry.find(Space::Mapping, 0x1000)->size_bytes, 5u);
  EXPECT_EQ(registry.find(Space::Memory, 0x1000)->size_bytes, 1u);
}

TEST_F(RegistryTest, ABlockWhoseEndPassedByComesBackWhenItsAddressIsSomebodyElses) {
  insert(0x1000, Class::Device, 1);
  Owned block{.size_bytes = 2, .block_class = Class::Device};
  std::optional<Owned> before;
  ASSERT_TRUE(registry.insert(0x1000, block, before, clock));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->size_bytes, 1u);
  EXPECT_LT(before->ticks, block.ticks);
  EXPECT_EQ(registry.find(Space::Memory, 0x1000)->size_bytes, 2u);
  EXPECT_EQ(count(), 1u);
}

TEST_F(RegistryTest, StampsGrow) {
  insert(0x1000, Class::Device, 1);
  std::uint64_t const begin = registry.find(Space::Memory, 0x1000)->ticks;
  auto const taken = registry.take(Space::Memory, 0x1000, clock);
  insert(0x1000, Class::Device, 2);
  EXPECT_LT(begin, taken->ticks);
  EXPECT_LT(taken->ticks, registry.find(Space::Memory, 0x1000)->ticks);
}

TEST_F(RegistryTest, PutBackItIsAsBefore) {
  insert(0x1000, Class::Managed, 7, 99);
  auto const taken = registry.take(Space::Memory, 0x1000, clock);
  ASSERT_TRUE(registry.put_back(0x1000, taken->block, clock));
  auto const again = registry.find(Space::Memory, 0x1000);
  EXPECT_EQ(again->ticks, taken->block.ticks);
  EXPECT_EQ(again->context, 99u);
}

TEST_F(RegistryTest, TakesOnlyTheBlockThatWasSeen) {
  insert(0x1000, Class::Device, 1);
  Owned const seen = *registry.find(Space::Memory, 0x1000);
  registry.take(Space::Memory, 0x1000, clock);
  insert(0x1000, Class::Device, 2);
  EXPECT_FALSE(registry.take_if(0x1000, seen, clock)) << "the address has another owner by now";
  EXPECT_TRUE(registry.take_if(0x1000, *registry.find(Space::Memory, 0x1000), clock));
  EXPECT_EQ(count(), 0u);
}

TEST_F(RegistryTest, KindsAreForLiveBlocks) {
  insert(0x1000, Class::Device, 1);
  EXPECT_TRUE(registry.set_kind(Space::Memory, 0x1000, trace::Kind::Gradient, 5));
  EXPECT_TRUE(registry.set_kind(Space::Memory, 0x1000, trace::Kind::Buffer, 0)) << "without a name the old one stays";
  EXPECT_FALSE(registry.set_kind(Space::Memory, 0x1001, trace::Kind::Gradient, 5));
  EXPECT_EQ(registry.find(Space::Memory, 0x1000)->kind, trace::Kind::Buffer);
  EXPECT_EQ(registry.find(Space::Memory, 0x1000)->name, 5u);
}

TEST_F(RegistryTest, HoldsAMillionAndForgetsThemAll) {
  constexpr std::uint64_t kBlocks = 1 << 18;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) insert(i << 9, Class::Device, i);
  EXPECT_EQ(count(), kBlocks);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) {
    auto const taken = registry.take(Space::Memory, i << 9, clock);
    wrong += !taken || taken->block.size_bytes != i ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(count(), 0u);
}

TEST_F(RegistryTest, ManyThreadsHaveTheirOwnBlocks) {
  constexpr std::uint64_t kThreads = 16, kRounds = 2000;
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        std::uint64_t const address = (i % 64 << 20) + (t << 9);
        Owned block{.size_bytes = t * kRounds + i};
        std::optional<Owned> before;
        if (!registry.insert(address, block, before, clock) || before) ++wrong;
        registry.set_kind(Space::Memory, address, trace::Kind::Input, 0);
        if (i % 16 == 0) registry.for_each(Space::Memory, [](std::uint64_t, const Owned&) {});
        auto const taken = registry.take(Space::Memory, address, clock);
        if (!taken || taken->block.size_bytes != t * kRounds + i || taken->ticks < block.ticks) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace tidemark::interpose
