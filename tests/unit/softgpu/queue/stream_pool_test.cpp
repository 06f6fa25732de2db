// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/stream_pool.h"

#include <gtest/gtest.h>

#include <random>

#include "base/bytes.h"
#include "tests/unit/softgpu/queue/fixture.h"

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

struct PoolBench : Bench {
  std::unique_ptr<Ledger> ledger;
  BlockMap blocks;
  std::unique_ptr<StreamPool> pool;
  explicit PoolBench(Schedule schedule = Schedule::Late, Bytes capacity = 256_MiB) : Bench(with_schedule(schedule)) {
    ledger = *Ledger::open(capacity, "", 0);
    pool = *StreamPool::create({.device = 0, .window_bytes = capacity.n}, *ledger, blocks, *engine);
  }
  Block* allocate(std::uint64_t bytes, Stream& s, std::vector<Ref<Ticket>>* waits = nullptr) {
    std::vector<Ref<Ticket>> own;
    return pool->allocate(bytes, s, waits != nullptr ? *waits : own);
  }
  Ref<Ticket> free(Lock& lock, Block* block, Stream& s) {
    auto const ticket = engine->submit(lock, s, Item{});
    pool->free(block, ticket);
    return ticket;
  }
};

TEST(StreamPool, ReservesInStepsAndCountsUseInUnits) {
  PoolBench b;
  Stream& s = b.stream();
  Lock lock = b.lock();
  Block const* const a = b.allocate(1000, s);
  EXPECT_EQ(b.pool->used.current, 1024u);
  EXPECT_EQ(b.pool->reserved.current, (32_MiB).n);
  EXPECT_EQ(b.ledger->usage().used_bytes, (32_MiB).n);
  EXPECT_EQ(b.blocks.find(a->address + 999), a);
}

TEST(StreamPool, AFreedBlockServesItsOwnStreamAtOnce) {
  PoolBench b;
  Stream& s = b.stream();
  Lock lock = b.lock();
  Block* const a = b.allocate((1_MiB).n, s);
  auto const address = a->address;
  b.free(lock, a, s);
  EXPECT_EQ(b.allocate((1_MiB).n, s)->address, address);
}

TEST(StreamPool, AnotherStreamMustNotHaveItBeforeTheFreeHasHappened) {
  PoolBench b;
  Stream &s = b.stream(false), &t = b.stream(false);
  Lock lock = b.lock();
  Block* const a = b.allocate((1_MiB).n, s);
  auto const address = a->address;
  auto const freed = b.free(lock, a, s);
  Block* const other = b.allocate((1_MiB).n, t);
  EXPECT_NE(other->address, address);
  b.engine->wait(lock, freed);
  EXPECT_EQ(b.allocate((1_MiB).n, t)->address, address) << "opportunistic: the free is done";
}

TEST(StreamPool, WithoutOpportunisticReuseADoneFreeServesOthersOnlyAfterASynchronisation) {
  PoolBench b;
  b.pool->reuse_opportunistic = false;
  b.pool->release_threshold = ~std::uint64_t{0};
  Stream &s = b.stream(false), &t = b.stream(false);
  Lock lock = b.lock();
  Block* const a = b.allocate((1_MiB).n, s);
  auto const address = a->address;
  b.engine->wait(lock, b.free(lock, a, s));
  EXPECT_NE(b.allocate((1_MiB).n, t)->address, address);
  b.pool->settle();
  EXPECT_EQ(b.allocate((1_MiB).n, t)->address, address);
}

TEST(StreamPool, AnEventDependencyAllowsReuseIfTheFlagDoes) {
  for (bool const follow : {true, false}) {
    PoolBench b;
    b.pool->reuse_follow_events = follow;
    Stream &s = b.stream(false), &t = b.stream(false);
    Lock lock = b.lock();
    Block* const a = b.allocate((1_MiB).n, s);
    auto const address = a->address;
    auto const freed = b.free(lock, a, s);
    b.run(lock, t, "wait", {freed});
    EXPECT_EQ(b.allocate((1_MiB).n, t)->address == address, follow);
  }
}

TEST(StreamPool, AFullDeviceMakesTheAllocationWaitForAnotherStreamsFree) {
  for (bool const internal : {true, false}) {
    PoolBench b(Schedule::Late, 64_MiB);
    b.pool->reuse_internal = internal;
    Stream &s = b.stream(false), &t = b.stream(false);
    Lock lock = b.lock();
    Block* const a = b.allocate((60_MiB).n, s);
    auto const freed = b.free(lock, a, s);
    std::vector<Ref<Ticket>> waits;
    Block const* const other = b.allocate((50_MiB).n, t, &waits);
    EXPECT_EQ(other != nullptr, internal);
    if (internal) {
      ASSERT_EQ(waits.size(), 1u);
      EXPECT_EQ(waits[0], freed);
    }
  }
}

TEST(StreamPool, ASynchronisationReleasesWhatIsBeyondTheThreshold) {
  for (Bytes const threshold : {0_MiB, 64_MiB, 1_GiB}) {
    PoolBench b;
    b.pool->release_threshold = threshold.n;
    Stream& s = b.stream();
    Lock lock = b.lock();
    Block *const a = b.allocate((100_MiB).n, s), *const c = b.allocate((10_MiB).n, s);
    auto const before = b.pool->reserved.current;
    b.engine->wait(lock, b.free(lock, a, s));
    b.pool->settle();
    if (threshold == 1_GiB) {
      EXPECT_EQ(b.pool->reserved.current, before);
    } else {
      EXPECT_GE(b.pool->reserved.current, std::max(threshold.n, (10_MiB).n));
      EXPECT_LT(b.pool->reserved.current, before);
    }
    EXPECT_EQ(b.ledger->usage().used_bytes, b.pool->reserved.current);
    EXPECT_NE(c, nullptr);
    EXPECT_EQ(b.pool->reserved.high, before);
  }
}

TEST(StreamPool, TrimToZeroKeepsOnlyWhatLives) {
  PoolBench b;
  Stream& s = b.stream();
  Lock lock = b.lock();
  Block* const a = b.allocate((3_MiB).n, s);
  b.pool->trim(0);
  EXPECT_EQ(b.pool->reserved.current, (4_MiB).n);
  b.engine->wait(lock, b.free(lock, a, s));
  b.pool->trim(0);
  EXPECT_EQ(b.pool->reserved.current, 0u);
  EXPECT_EQ(b.ledger->usage().used_bytes, 0u);
}

// Every second of the blocks that fill the device is free; nothing of twice their size is in one piece.
struct Holes {
  std::vector<Block*> live;
  Holes(PoolBench& b, Lock& lock, Stream& s) {
    std::vector<Block*> blocks;
    while (Block* const block = b.allocate((8_MiB).n, s)) blocks.push_back(block);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i % 2 == 0) {
        b.engine->wait(lock, b.free(lock, blocks[i], s));
      } else {
        live.push_back(blocks[i]);
      }
    }
    b.pool->settle();
  }
};

TEST(StreamPool, HolesServeALargerBlock) {
  // Physical memory has no neighbours: what is kept for reuse moves to other addresses before the device is "full".
  for (Bytes const threshold : {0_MiB, 1_GiB}) {
    PoolBench b;
    b.pool->release_threshold = threshold.n;
    Stream& s = b.stream();
    Lock lock = b.lock();
    Holes const holes(b, lock, s);
    for (int i = 0; i < 8; ++i) ASSERT_NE(b.allocate((16_MiB).n, s), nullptr) << threshold.n << " " << i;
    EXPECT_EQ(b.allocate((16_MiB).n, s), nullptr) << "now it is full";
    EXPECT_EQ(b.pool->reserved.current, (256_MiB).n);
    EXPECT_EQ(b.pool->used.current, (256_MiB).n);
    EXPECT_EQ(b.ledger->usage().used_bytes, (256_MiB).n);
  }
}

TEST(StreamPool, ARefusedAllocationLeavesTheReserveAlone) {
  PoolBench b;
  b.pool->release_threshold = (1_GiB).n;
  Stream& s = b.stream();
  Lock lock = b.lock();
  Holes const holes(b, lock, s);
  auto const before = b.pool->reserved.current;
  EXPECT_EQ(b.allocate((200_MiB).n, s), nullptr);
  EXPECT_EQ(b.pool->reserved.current, before);
}

TEST(StreamPool, NeverHoldsMoreThanItMay) {
  PoolBench b;
  b.pool = *StreamPool::create({.device = 0, .window_bytes = (10_MiB).n}, *b.ledger, b.blocks, *b.engine);
  Stream& s = b.stream();
  Lock lock = b.lock();
  EXPECT_EQ(b.allocate((11_MiB).n, s), nullptr);
  EXPECT_NE(b.allocate((4_MiB).n, s), nullptr);
  EXPECT_NE(b.allocate((6_MiB).n, s), nullptr);
  EXPECT_EQ(b.allocate(1, s), nullptr);
  EXPECT_EQ(b.pool->reserved.current, (10_MiB).n);
}

TEST(StreamPool, ADestroyedPoolGivesEverythingBack) {
  PoolBench b;
  Stream& s = b.stream();
  Lock lock = b.lock();
  auto const address = b.allocate((5_MiB).n, s)->address;
  b.pool.reset();
  EXPECT_EQ(b.ledger->usage().used_bytes, 0u);
  EXPECT_EQ(b.blocks.find(address), nullptr);
}

// Live blocks never overlap each other, whatever the schedule and the reuse; the bill is what is mapped.
class RandomPool : public testing::TestWithParam<int> {};

TEST_P(RandomPool, NeverHandsOutTheSameByteTwice) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  PoolBench b(GetParam() % 2 == 0 ? Schedule::Late : Schedule::Eager, 128_MiB);
  std::vector<Stream*> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(&b.stream(false));
  Lock lock = b.lock();
  std::map<std::uintptr_t, Block*> live;
  for (int step = 0; step < 2000; ++step) {
    Stream& s = *streams[random() % 3];
    switch (random() % 8) {
      case 0:
        b.engine->wait(lock, Ref<Ticket>(s.last));
        b.pool->settle();
        break;
      case 1: b.pool->trim(random() % (64_MiB).n); break;
      case 2:
      case 3:
      case 4:
        if (!live.empty()) {
          auto it = live.begin();
          std::advance(it, static_cast<long>(random() % live.size()));
          b.free(lock, it->second, s);
          live.erase(it);
        }
        break;
      default: {
        Block* const block = b.allocate(1 + random() % (random() % 3 == 0 ? (20_MiB).n : (64_KiB).n), s);
        if (block == nullptr) break;
        auto const next = live.lower_bound(block->address);
        if (next != live.end()) {
          ASSERT_LE(block->address + block->rounded, next->first);
        }
        if (next != live.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second->rounded, block->address);
        }
        live[block->address] = block;
      }
    }
    std::uint64_t used = 0;
    for (auto const& [address, block] : live) used += block->rounded;
    ASSERT_EQ(b.pool->used.current, used);
    ASSERT_EQ(b.ledger->usage().used_bytes, b.pool->reserved.current);
    ASSERT_LE(used, b.pool->reserved.current);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPool, testing::Range(0, 20));

}  // namespace
}  // namespace tidemark::softgpu
