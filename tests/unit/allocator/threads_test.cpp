// SPDX-License-Identifier: Apache-2.0
// Eight threads on one allocator: own streams and the same one, frees in other threads, memory short, threads that end.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "allocator/core/allocator.h"
#include "base/reserved.h"
#include "tests/support/fake_upstream.h"

namespace tidemark::allocator {
namespace {

constexpr unsigned kThreads = 8;

int rounds() {
  const char* const given = std::getenv("TIDEMARK_TEST_OPERATIONS");
  return given == nullptr ? 4000 : static_cast<int>(std::strtol(given, nullptr, 10) / 8);
}

// Who has which granule, looked at in steps: a block that is handed out twice is seen by whoever comes second.
class Owners {
 public:
  explicit Owners(std::uint64_t base) : base_(base), owners_((6ull << 30) / kGranuleBytes) {}
  bool take(std::uint64_t address, std::uint64_t bytes, std::uint32_t owner) {
    return change(address, bytes, 0, owner);
  }
  bool drop(std::uint64_t address, std::uint64_t bytes, std::uint32_t owner) {
    return change(address, bytes, owner, 0);
  }

 private:
  bool change(std::uint64_t address, std::uint64_t bytes, std::uint32_t from, std::uint32_t to) {
    bool good = true;
    for (std::uint64_t at = address - base_; at < address - base_ + bytes; at += 64 << 10)
      good = owners_[at / kGranuleBytes].exchange(to) == from && good;
    return good;
  }
  std::uint64_t base_;
  ReservedArray<std::atomic<std::uint32_t>> owners_;
};

struct Block {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t owner;
};

// Blocks that one thread has allocated and any other may free.
class Exchange {
 public:
  void give(const Block& block) {
    std::lock_guard const guard(mutex_);
    blocks_.push_back(block);
  }
  bool take(Block& block) {
    std::lock_guard const guard(mutex_);
    if (blocks_.empty()) return false;
    block = blocks_.front();
    blocks_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Block> blocks_;
};

struct Crowd {
  Crowd(std::uint64_t limit_bytes, unsigned streams, Options options = {})
      : allocator(make(limit_bytes, options)), owners(allocator->arena().pool().base()) {
    for (unsigned i = 0; i < streams; ++i) domains.push_back(allocator->add_stream(StreamHandle{i + 1}));
  }
  std::unique_ptr<Allocator> make(std::uint64_t limit_bytes, Options options) {
    options.limit_bytes = limit_bytes;
    options.capacity_bytes = 1ull << 30;
    return Allocator::make(driver, options);
  }
  void run_threads() {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { work(t); });
    for (std::thread& t : threads) t.join();
    for (Block block{}; exchange.take(block);) release(block, DomainId::Shared);
  }
  void run() {
    run_threads();
    EXPECT_EQ(mistakes, 0u);
    EXPECT_EQ(allocator->check(), "");
    EXPECT_EQ(allocator->statistics().live_bytes, 0u);
    allocator->give_back(~0ull >> 1);
    EXPECT_EQ(driver.used_bytes(), 0u);
    EXPECT_TRUE(driver.violations().empty()) << driver.violations().front();
  }
  void work(unsigned t) {
    std::mt19937 random(t);
    std::vector<Block> mine;
    DomainId const domain = domains.empty() ? DomainId::Shared : domains[t % domains.size()];
    for (int i = 0; i < rounds(); ++i) {
      if (mine.size() < random() % 24) {
        Block block{.bytes = 1 + (random() % 2 == 0 ? 40'000 * (random() % 20) : random() % (3u << 20)),
                    .owner = t + 1};
        if (allocator->allocate({.bytes = block.bytes, .domain = domain}, &block.address) != Status::Ok) continue;
        if (!owners.take(block.address, block.bytes, block.owner)) ++mistakes;
        if (domain != DomainId::Shared) {
          allocator->before_submission(domain);
          allocator->after_submission(domain);
        }
        random() % 4 == 0 ? exchange.give(block) : mine.push_back(block);
      } else if (Block block{}; random() % 3 == 0 && exchange.take(block)) {
        release(block, DomainId::Shared);
      } else if (!mine.empty()) {
        std::size_t const at = random() % mine.size();
        std::swap(mine[at], mine.back());
        release(mine.back(), random() % 2 == 0 ? domain : DomainId::Shared);
        mine.pop_back();
      }
      if (random() % 500 == 0) allocator->give_back(4 << 20);
    }
    for (const Block& block : mine) release(block, domain);
  }
  void release(const Block& block, DomainId domain) {
    if (!owners.drop(block.address, block.bytes, block.owner)) ++mistakes;
    if (allocator->free_in(block.address, domain) != Freed::Yes) ++mistakes;
  }

  tests::FakeUpstream driver{{.capacity_bytes = 1ull << 30}};
  std::unique_ptr<Allocator> allocator;
  Owners owners;
  std::vector<DomainId> domains;
  Exchange exchange;
  std::atomic<std::uint64_t> mistakes{0};
};

TEST(Threads, NoBlockIsHandedOutTwiceWithoutStreams) {
  Crowd(0, 0).run();
}
TEST(Threads, NoBlockIsHandedOutTwiceOnOneStream) {
  Crowd(0, 1).run();
}
TEST(Threads, NoBlockIsHandedOutTwiceOnAStreamEach) {
  Crowd(0, kThreads).run();
}
TEST(Threads, NoBlockIsHandedOutTwiceWhereMemoryIsShort) {
  Crowd(64 << 20, 3).run();
}

TEST(Threads, NoBlockIsHandedOutTwiceWithEveryOptionOn) {
  for (unsigned const streams : {0u, 1u, kThreads})
    Crowd(0, streams, {.round_bytes = 4096, .cache_cap_bytes = 16 << 20, .poison = true}).run();
}
TEST(Threads, ACapHoldsWhenAllAreDone) {
  Crowd crowd(0, 3, {.cache_cap_bytes = 8 << 20});
  crowd.run_threads();
  EXPECT_EQ(crowd.mistakes, 0u);
  std::uint64_t address = 0;
  ASSERT_EQ(crowd.allocator->allocate({.bytes = 3 << 20}, &address), Status::Ok);
  crowd.allocator->free(address);
  EXPECT_LE(crowd.allocator->statistics().cached_bytes, 8u << 20);
}

TEST(Threads, OnlyOneOfTwoFreesOfTheSameBlockWins) {
  tests::FakeUpstream driver({.capacity_bytes = 1ull << 30});
  auto const allocator = Allocator::make(driver, {.capacity_bytes = 1ull << 30});
  for (int i = 0; i < 200; ++i) {
    std::uint64_t address = 0;
    ASSERT_EQ(allocator->allocate({.bytes = 4096}, &address), Status::Ok);
    std::atomic<int> freed{0};
    std::thread other([&] { freed += allocator->free(address) == Freed::Yes ? 1 : 0; });
    freed += allocator->free(address) == Freed::Yes ? 1 : 0;
    other.join();
    EXPECT_EQ(freed, 1);
  }
  EXPECT_EQ(allocator->check(), "");
}

TEST(Threads, WhatAThreadKeptIsEverybodysWhenItEnds) {
  tests::FakeUpstream driver({.capacity_bytes = 1ull << 30});
  auto const allocator = Allocator::make(driver, {.capacity_bytes = 1ull << 30});
  std::uint64_t theirs = 0;
  std::thread([&] {
    allocator->allocate({.bytes = 3 << 20}, &theirs);
    allocator->free(theirs);
  }).join();
  EXPECT_EQ(allocator->magazine_bytes(), 0u);
  std::uint64_t mine = 0;
  allocator->allocate({.bytes = 3 << 20}, &mine);
  EXPECT_EQ(mine, theirs);
  EXPECT_EQ(allocator->statistics().allocations, 2u);
}

TEST(Threads, AnAllocatorMayEndBeforeItsThreads) {
  tests::FakeUpstream driver({.capacity_bytes = 1ull << 30});
  auto allocator = Allocator::make(driver, {.capacity_bytes = 1ull << 30});
  std::atomic<int> stage{0};
  std::thread other([&] {
    std::uint64_t address = 0;
    allocator->allocate({.bytes = 3 << 20}, &address);
    allocator->free(address);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  allocator.reset();
  auto const next = Allocator::make(driver, {.capacity_bytes = 1ull << 30});
  stage = 2;
  other.join();
  std::uint64_t address = 0;
  EXPECT_EQ(next->allocate({.bytes = 3 << 20}, &address), Status::Ok);
}

}  // namespace
}  // namespace tidemark::allocator
