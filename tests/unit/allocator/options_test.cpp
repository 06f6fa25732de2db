// SPDX-License-Identifier: Apache-2.0
// What a user can ask the allocator for: coarser sizes, a cap on what is kept, memory that is filled when it is freed.
#include <random>

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

constexpr std::uint64_t kCapacity = 1ull << 30;

struct Rounded : AllocatorTest {
  Rounded() : AllocatorTest({.capacity_bytes = kCapacity}, {.round_bytes = 64 << 10}) {}
};

TEST_F(Rounded, SizesAreMultiplesAndWhatIsLostIsCounted) {
  std::uint64_t const a = allocate(1_B);
  std::uint64_t const b = allocate(64_KiB);
  std::uint64_t const c = allocate(64_KiB + 1_B);
  Allocator::Block block;
  for (auto const& [address, requested, rounded] :
       {std::tuple{a, 1ull, 64ull << 10}, {b, 64ull << 10, 64ull << 10}, {c, (64ull << 10) + 1, 128ull << 10}}) {
    ASSERT_TRUE(allocator->describe(address, &block));
    EXPECT_EQ(block.requested_bytes, requested);
    EXPECT_EQ(block.rounded_bytes, rounded);
  }
  EXPECT_EQ(statistics().rounding_loss_bytes(), (256u << 10) - (1 + (64 << 10) + (64 << 10) + 1));
}

TEST_F(Rounded, SizesThatRoundAlikeServeEachOther) {
  std::uint64_t const first = allocate(100'000_B);
  allocator->free(first);
  EXPECT_EQ(allocate(128_KiB), first);
}

struct Capped : AllocatorTest {
  explicit Capped(Schedule schedule = Schedule::Eager, std::uint64_t cap = 16 << 20)
      : AllocatorTest({.capacity_bytes = kCapacity}, {.cache_cap_bytes = cap}, schedule) {}
};

TEST_F(Capped, WhatIsFreedBeyondTheCapGoesBackToTheDriver) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(8_MiB));
  EXPECT_EQ(statistics().reserved_bytes, 128u << 20);
  for (std::uint64_t const block : blocks) {
    allocator->free(block);
    EXPECT_LE(statistics().cached_bytes, 16u << 20);
  }
  EXPECT_EQ(statistics().live_bytes, 0u);
  EXPECT_GE(statistics().cached_bytes, 8u << 20) << "what is within the cap is kept";
  EXPECT_EQ(device.used_bytes(), statistics().reserved_bytes);
}

TEST_F(Capped, SmallBlocksCountToo) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 4096; ++i) blocks.push_back(allocate(32_KiB));
  for (std::uint64_t const block : blocks) allocator->free(block);
  EXPECT_LE(statistics().cached_bytes, 16u << 20);
}

TEST_F(Capped, WithinTheCapNothingIsAskedOfTheDriver) {
  std::uint64_t const first = allocate(8_MiB);
  allocator->free(first);
  std::uint64_t const calls = statistics().driver_calls;
  for (int i = 0; i < 100; ++i) {
    std::uint64_t const block = allocate(8_MiB);
    allocator->free(block);
  }
  EXPECT_EQ(statistics().driver_calls, calls);
}

struct CappedLate : Capped {
  CappedLate() : Capped(Schedule::Late) {}
};

// A cap makes nobody wait, and takes no memory away from work that is still to come.
TEST_F(CappedLate, WhatAStreamMayStillUseStaysUntilItHasPassed) {
  Stream const stream = make_stream();
  std::uint64_t const block = allocate(64_MiB);
  work(stream, block, 64 << 20, 1);
  allocator->free(block);
  EXPECT_EQ(statistics().cached_bytes, 64u << 20);
  EXPECT_EQ(statistics().waits, 0u);
  device.run_everything();
  allocator->free(allocate(512_B));
  for (int i = 0; i < 64; ++i) {  // it is looked at now and then
    std::uint64_t const small = allocate(Bytes{512ull * (2 + i)});
    allocator->free(small);
  }
  EXPECT_LE(statistics().cached_bytes, 16u << 20);
}

struct NothingKept : Capped {
  NothingKept() : Capped(Schedule::Eager, 0) {}
};
TEST_F(NothingKept, ACapOfZeroKeepsNothing) {
  std::uint64_t const a = allocate(8_MiB);
  std::uint64_t const b = allocate(4_KiB);
  allocator->free(a);
  EXPECT_EQ(device.used_bytes(), 2u << 20) << "the frame of the small one";
  allocator->free(b);
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST_F(AllocatorTest, WhatNoStreamUsesIsGivenBackWithoutWaiting) {
  Stream const stream = make_stream();
  std::uint64_t const block = allocate(64_MiB);
  work(stream, block, 64 << 20, 1);
  allocator->free(block);
  EXPECT_EQ(allocator->give_back_idle(~0ull >> 1), 0u);
  EXPECT_EQ(statistics().waits, 0u);
  device.run_everything();
  EXPECT_EQ(allocator->give_back_idle(~0ull >> 1), 64u << 20);
  EXPECT_EQ(statistics().given_back_bytes, 64u << 20);
}

struct Poisoned : AllocatorTest {
  explicit Poisoned(Schedule schedule = Schedule::Late)
      : AllocatorTest({.capacity_bytes = kCapacity}, {.poison = true}, schedule) {}
};

TEST_F(Poisoned, AFreedBlockIsFilledBehindTheWorkThatUsesIt) {
  Stream const stream = make_stream();
  std::uint64_t const block = allocate(3_MiB);
  work(stream, block, 3 << 20, 7);
  allocator->free(block);
  EXPECT_NE(device.owner_at(block), device.kFilled) << "before the stream has run";
  device.run_everything();
  EXPECT_EQ(device.owner_at(block), device.kFilled);
  EXPECT_EQ(statistics().filled_bytes, 3u << 20);
}

TEST_F(Poisoned, WithoutAnyStreamItIsFilledToo) {
  std::uint64_t const block = allocate(4_KiB);
  allocator->free(block);
  device.run_everything();
  EXPECT_EQ(device.owner_at(block), device.kFilled);
}

TEST_F(Poisoned, InAStreamsOrderItIsFilledInThatStream) {
  Stream const a = make_stream();
  Stream const b = make_stream();
  std::uint64_t const block = allocate(3_MiB, a.domain);
  std::uint64_t const other = allocate(3_MiB, b.domain);
  work(a, block, 3 << 20, 1);
  work(b, other, 3 << 20, 2);
  allocator->free_in(block, a.domain);
  std::uint64_t const again = allocate(3_MiB, a.domain);
  EXPECT_EQ(again, block) << "it is free in its stream's order at once";
  work(a, again, 3 << 20, 3);
  allocator->free_in(other, b.domain);
  device.run_everything();
  EXPECT_EQ(device.owner_at(again), 3u);
  EXPECT_EQ(device.owner_at(other), device.kFilled);
}

TEST_F(Poisoned, OfManyStreamsItIsFilledBehindAll) {
  std::vector<Stream> streams{make_stream(), make_stream(), make_stream()};
  std::uint64_t const block = allocate(3_MiB);
  for (const Stream& stream : streams) work(stream, block, 3 << 20, 5);
  allocator->free(block);
  device.run_everything();  // each stream verifies its stamp: a fill in between would be a corruption
  EXPECT_EQ(device.owner_at(block), device.kFilled);
}

TEST_F(Poisoned, AStreamThatIsGoneFillsNothing) {
  Stream const a = make_stream();
  Stream const b = make_stream();
  std::uint64_t const block = allocate(3_MiB);
  work(a, block, 3 << 20, 5);
  work(b, block, 3 << 20, 5);
  allocator->remove_stream(a.domain);
  allocator->free_in(block, a.domain);
  device.run_everything();
  EXPECT_EQ(device.owner_at(block), device.kFilled);
}

TEST_F(Poisoned, DuringACaptureNothingIsFilled) {
  Stream const stream = make_stream();
  std::uint64_t const block = allocate(3_MiB);
  work(stream, block, 3 << 20, 5);
  Allocator::CaptureId const capture = allocator->begin_capture();
  allocator->free(block);
  EXPECT_EQ(statistics().filled_bytes, 0u);
  allocator->end_capture(capture);
  device.run_everything();
  EXPECT_EQ(device.owner_at(block), device.kFilled);
}

TEST_F(Poisoned, AFillThatTheDriverRefusesIsNoReasonToKeepTheBlock) {
  std::uint64_t const block = allocate(3_MiB);
  device.fail(tests::Call::Fill, 0, Status::Failed);
  EXPECT_EQ(allocator->free(block), Freed::Yes);
  EXPECT_EQ(statistics().filled_bytes, 0u);
  EXPECT_EQ(allocate(3_MiB), block);
}

TEST(PoisonedOrder, NoNewOwnerIsEverOverwritten) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    tests::SimulatedDevice device({.capacity_bytes = 96 << 20}, seed % 3 == 0 ? Schedule::Late : Schedule::Random,
                                  seed);
    auto const allocator = Allocator::make(
        device,
        {.capacity_bytes = 96 << 20, .cache_cap_bytes = seed % 2 == 0 ? 8ull << 20 : Options::kNoCap, .poison = true});
    std::mt19937 random(seed);
    struct Stream {
      StreamHandle handle;
      DomainId domain;
    };
    std::vector<Stream> streams;
    for (unsigned i = 0; i < 1 + seed % 4; ++i) {
      StreamHandle const handle = device.make_stream();
      streams.push_back({handle, allocator->add_stream(handle)});
    }
    struct Held {
      std::uint64_t address, bytes;
      Stream stream;
      bool ordered;
    };
    std::vector<Held> held;
    std::uint64_t owner = 0;
    for (int i = 0; i < 1500; ++i) {
      if (random() % 2 == 0 || held.empty()) {
        Held h{.bytes = 1 + random() % (4 << 20),
               .stream = streams[random() % streams.size()],
               .ordered = random() % 2 == 0};
        DomainId const domain = h.ordered ? h.stream.domain : DomainId::Shared;
        if (allocator->allocate({.bytes = h.bytes, .domain = domain}, &h.address) != Status::Ok) continue;
        allocator->before_submission(h.stream.domain);
        device.stamp(h.stream.handle, h.address, h.bytes, ++owner);
        device.verify(h.stream.handle, h.address, h.bytes, owner);
        allocator->after_submission(h.stream.domain);
        held.push_back(h);
      } else {
        std::swap(held[random() % held.size()], held.back());
        Held const h = held.back();
        held.pop_back();
        DomainId const domain = h.ordered && random() % 3 != 0 ? h.stream.domain : DomainId::Shared;
        ASSERT_EQ(allocator->free_in(h.address, domain), Freed::Yes);
      }
    }
    device.run_everything();
    EXPECT_EQ(device.corruptions(), 0u);
    EXPECT_TRUE(device.violations().empty()) << device.violations().front();
    EXPECT_EQ(allocator->check(), "");
    EXPECT_GT(allocator->statistics().filled_bytes, 0u);
  }
}

}  // namespace
}  // namespace tidemark::allocator
