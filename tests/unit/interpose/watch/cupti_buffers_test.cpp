// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_buffers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tidemark::interpose {
namespace {

class BuffersTest : public testing::Test {
 protected:
  // Large; and what it maps is the process's.
  std::unique_ptr<CuptiBuffers> const owned_ = std::make_unique<CuptiBuffers>();
  CuptiBuffers& buffers = *owned_;
};

TEST_F(BuffersTest, AreGivenTakenBackAndReadInOrder) {
  std::uint8_t* const first = buffers.give();
  std::uint8_t* const second = buffers.give();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 8, 0u);
  std::memset(second, 7, CuptiBuffers::kBytes);
  EXPECT_EQ(buffers.take_back(second, 100), 1u);
  EXPECT_EQ(buffers.take_back(first, 50), 2u);
  std::vector<std::size_t> sizes;
  buffers.read([&](std::span<std::uint8_t> bytes) { sizes.push_back(bytes.size()); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{100, 50}));
  std::set<std::uint8_t*> const again{buffers.give(), buffers.give()};
  EXPECT_EQ(again, (std::set<std::uint8_t*>{first, second})) << "what was read is used again";
}

TEST_F(BuffersTest, WhatIsNoneOfOursIsLeftAlone) {
  std::uint8_t foreign[16];
  EXPECT_EQ(buffers.take_back(foreign, 16), 0u);
  EXPECT_EQ(buffers.take_back(nullptr, 16), 0u);
  std::uint8_t* const mine = buffers.give();
  EXPECT_EQ(buffers.take_back(mine + 8, 16), 0u);
  EXPECT_EQ(buffers.take_back(mine, 16), 1u);
  EXPECT_EQ(buffers.take_back(mine, 16), 1u) << "given back twice is given back";
  int read = 0;
  buffers.read([&](std::span<std::uint8_t>) { ++read; });
  EXPECT_EQ(read, 1);
}

TEST_F(BuffersTest, MoreThanABufferHoldsIsNotBelieved) {
  buffers.take_back(buffers.give(), 10 * CuptiBuffers::kBytes);
  buffers.read([&](std::span<std::uint8_t> bytes) { EXPECT_EQ(bytes.size(), CuptiBuffers::kBytes); });
}

// A reader that does not come costs the oldest records, never a refusal.
TEST_F(BuffersTest, AreNeverRefusedAndLossesAreCounted) {
  for (std::size_t i = 0; i < 2 * CuptiBuffers::kMostFull; ++i) {
    std::uint8_t* const buffer = buffers.give();
    ASSERT_NE(buffer, nullptr);
    buffers.take_back(buffer, i + 1);
  }
  std::vector<std::size_t> sizes;
  buffers.read([&](std::span<std::uint8_t> bytes) { sizes.push_back(bytes.size()); });
  ASSERT_EQ(sizes.size(), CuptiBuffers::kMostFull);
  EXPECT_EQ(sizes.front(), CuptiBuffers::kMostFull + 1);
  EXPECT_EQ(sizes.back(), 2 * CuptiBuffers::kMostFull);
  EXPECT_EQ(buffers.lost_bytes(), CuptiBuffers::kMostFull * (CuptiBuffers::kMostFull + 1) / 2);
}

TEST_F(BuffersTest, ManyThreadsMayHoldOneEach) {
  std::set<std::uint8_t*> held;
  for (std::size_t i = 0; i < CuptiBuffers::kMost; ++i) held.insert(buffers.give());
  EXPECT_EQ(held.size(), CuptiBuffers::kMost);
  EXPECT_EQ(held.count(nullptr), 0u);
  EXPECT_EQ(buffers.give(), nullptr) << "there is an end to everything";
  buffers.take_back(*held.begin(), 1);
  EXPECT_NE(buffers.give(), nullptr);
}

TEST_F(BuffersTest, GivingTakingAndReadingMayHappenAtOnce) {
  constexpr std::size_t kThreads = 4, kEach = 2000;
  std::atomic<std::size_t> read{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kEach; ++i) {
        std::uint8_t* const buffer = buffers.give();
        std::memset(buffer, static_cast<int>(t), 64);
        buffers.take_back(buffer, 64);
      }
    });
  std::thread reader([&] {
    auto const look = [&](std::span<std::uint8_t> bytes) {
      for (std::uint8_t const b : bytes) EXPECT_EQ(b, bytes[0]);
      ++read;
    };
    while (!done) buffers.read(look);
    buffers.read(look);
  });
  for (auto& t : threads) t.join();
  done = true;
  reader.join();
  EXPECT_EQ(read * 64 + buffers.lost_bytes(), kThreads * kEach * 64);
}

}  // namespace
}  // namespace tidemark::interpose
