// SPDX-License-Identifier: Apache-2.0
// The order in which memory is looked for when it is short, step by step: what each step finds, and that no step that
// costs more is taken before it. The device has 32 MiB; work runs when somebody waits for it.
#include <random>

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

using tests::Call;

struct OomOrder : AllocatorTest {
  explicit OomOrder(Options options = {}) : AllocatorTest({.capacity_bytes = 32 << 20}, options, Schedule::Late) {}

  // What the driver was asked for so far that takes or moves memory, and what was waited for.
  struct Cost {
    std::uint64_t driver_calls = 0, waits = 0, inserted_waits = 0, moved_bytes = 0;
    bool operator==(const Cost&) const = default;
  };
  Cost cost() const {
    Statistics const s = statistics();
    return {s.driver_calls, s.waits, s.inserted_waits, s.moved_bytes};
  }
  // Two streams have been used, so that frees have to wait; both are known to have nothing to do.
  void use_two_streams() {
    Mark end;
    for (Stream const& stream : {a, b}) {
      allocator->before_submission(stream.domain);
      allocator->after_submission(stream.domain);
      ASSERT_EQ(allocator->streams().mark(stream.domain, &end), Status::Ok);
    }
    device.run_everything();
    allocator->streams().poll();
  }
  // A block of the cudaMalloc family, freed while a stream still has to use it.
  std::uint64_t free_busy(const Stream& stream, Bytes size, std::uint64_t owner) {
    std::uint64_t const block = allocate(size);
    EXPECT_NE(block, 0u);
    work(stream, block, size.n, owner);
    allocator->free(block);
    allocator->harvest();  // closes the batch: each has an event of its own
    return block;
  }

  Stream a = make_stream(), b = make_stream();
};

TEST_F(OomOrder, Step1TheSameSizeIsFoundWithoutAnyCall) {
  std::uint64_t const block = allocate(6_MiB);
  allocator->free(block);
  Cost const before = cost();
  EXPECT_EQ(allocate(6_MiB), block);
  EXPECT_EQ(cost(), before);
}

TEST_F(OomOrder, Step2TheBestHoleIsFoundWithoutAnyCall) {
  std::uint64_t const large = allocate(12_MiB);
  allocate(2_MiB);
  std::uint64_t const small = allocate(8_MiB);
  allocate(2_MiB);
  allocator->free(large);
  allocator->free(small);
  allocator->merge_everything();
  Cost const before = cost();
  EXPECT_EQ(allocate(7_MiB), small);
  EXPECT_EQ(allocate(11_MiB), large);
  EXPECT_EQ(cost(), before);
}

TEST_F(OomOrder, Step3FinishedFreesAreHarvestedAndSearchedAgain) {
  use_two_streams();
  std::uint64_t const block = free_busy(a, 24_MiB, 1);
  device.run_everything();
  Cost const before = cost();
  EXPECT_EQ(allocate(24_MiB), block);
  EXPECT_EQ(cost(), before) << "its event is done: nobody waits, and nothing is mapped";
}

TEST_F(OomOrder, Step4FinishedMemoryOfAnotherStreamIsTaken) {
  use_two_streams();
  std::uint64_t const block = allocate(24_MiB, a.domain);
  work(a, block, 24 << 20, 1);
  allocator->free_in(block, a.domain);
  Mark end;
  ASSERT_EQ(allocator->streams().mark(a.domain, &end), Status::Ok);
  device.run_everything();
  Cost const before = cost();
  EXPECT_EQ(allocate(24_MiB, b.domain), block);
  EXPECT_EQ(cost(), before);
}

TEST_F(OomOrder, Step5WhileTheDeviceHasPagesNobodyWaits) {
  use_two_streams();
  free_busy(a, 12_MiB, 1);
  std::uint64_t const other = allocate(12_MiB, b.domain);
  ASSERT_NE(other, 0u);
  EXPECT_EQ(statistics().reserved_bytes, 24u << 20);
  EXPECT_EQ(statistics().waits, 0u);
  EXPECT_EQ(statistics().inserted_waits, 0u);
}

TEST_F(OomOrder, Step6FreePagesAreStitchedWithoutMovingData) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < 8; ++i) {
    blocks.push_back(allocate(4_MiB));
    work(a, blocks.back(), 4 << 20, 100 + i);
  }
  for (std::size_t i = 0; i < 8; i += 2) allocator->free(blocks[i]);
  std::uint64_t const large = allocate(16_MiB);
  ASSERT_NE(large, 0u);
  EXPECT_EQ(device.used_bytes(), 32u << 20);
  EXPECT_GT(statistics().moved_bytes, 0u);
  EXPECT_TRUE(device.accessible(large, 16 << 20));
  work(a, large, 16 << 20, 1);
  device.run_everything();
  for (std::size_t i = 1; i < 8; i += 2)
    EXPECT_EQ(device.owner_at(blocks[i]), 100 + i) << "its bytes are where they were";
}

TEST_F(OomOrder, Step7aAnotherStreamsMemoryIsTakenBehindADependencyBeforeTheProgramWaits) {
  use_two_streams();
  std::uint64_t const block = allocate(24_MiB, a.domain);
  work(a, block, 24 << 20, 1);
  allocator->free_in(block, a.domain);
  std::uint64_t const taken = allocate(24_MiB, b.domain);
  EXPECT_EQ(taken, block);
  EXPECT_EQ(statistics().inserted_waits, 1u);
  EXPECT_EQ(statistics().waits, 0u);
  work(b, taken, 24 << 20, 2);
}

// The complaint behind it: an identical retry would have succeeded, since the next event was about to be done.
TEST_F(OomOrder, Step7EventsAreWaitedForOneByOneWithASearchAfterEach) {
  use_two_streams();
  std::uint64_t const first = free_busy(a, 10_MiB, 1);
  free_busy(b, 10_MiB, 2);
  free_busy(a, 10_MiB, 3);
  EXPECT_EQ(statistics().pending_bytes, 30u << 20);
  std::uint64_t const again = allocate(10_MiB);
  EXPECT_EQ(again, first);
  EXPECT_EQ(statistics().waits, 1u) << "the first event was enough";
  EXPECT_EQ(statistics().pending_bytes, 20u << 20) << "the others are still on their way";
  EXPECT_NE(allocate(10_MiB), 0u);
  EXPECT_EQ(statistics().waits, 2u);
  EXPECT_EQ(statistics().pending_bytes, 10u << 20);
}

TEST_F(OomOrder, Step7AfterAnEventItsPagesMayBeStitchedWithOthers) {
  use_two_streams();
  free_busy(a, 10_MiB, 1);
  std::uint64_t const pin = allocate(2_MiB);
  ASSERT_NE(pin, 0u);
  free_busy(b, 10_MiB, 2);
  free_busy(a, 10_MiB, 3);
  EXPECT_NE(allocate(20_MiB), 0u);
  EXPECT_EQ(statistics().waits, 2u);
  EXPECT_GT(statistics().moved_bytes, 0u);
}

struct OneStreamOrder : OomOrder {};
TEST_F(OneStreamOrder, Step9TheDeviceIsWaitedForLast) {
  // While there is one stream nobody knows how far it is: what it may still use cannot move before it is asked.
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < 8; ++i) {
    blocks.push_back(allocate(4_MiB));
    work(a, blocks.back(), 4 << 20, i + 1);
  }
  for (std::size_t i = 0; i < 8; i += 2) allocator->free(blocks[i]);
  EXPECT_EQ(statistics().waits, 0u);
  EXPECT_NE(allocate(16_MiB), 0u);
  EXPECT_LE(statistics().waits, 1u);
}

TEST_F(OomOrder, Step10AFailureIsExplainedAndLeavesEverythingAsItWas) {
  use_two_streams();
  std::uint64_t const live = allocate(24_MiB);
  free_busy(a, 6_MiB, 1);
  EXPECT_EQ(allocate(12_MiB), 0u);
  OutOfMemory const why = allocator->last_failure();
  EXPECT_EQ(why.wanted_bytes, 12u << 20);
  EXPECT_EQ(why.live_bytes, 24u << 20);
  EXPECT_EQ(why.driver_free_bytes + why.reserved_bytes, 32u << 20);
  EXPECT_EQ(statistics().failures, 1u);
  EXPECT_EQ(allocator->check(), "");
  EXPECT_NE(allocate(8_MiB), 0u) << "what fits is served";
  allocator->free(live);
  EXPECT_NE(allocate(24_MiB), 0u);
}

// --- pages for others, and what is said about them ---

TEST_F(OomOrder, WhatIsSaidToBeFreeIsFreeForOthersAndForUs) {
  use_two_streams();
  std::uint64_t const pin = allocate(3_MiB);
  free_busy(a, 8_MiB, 1);
  free_busy(b, 5_MiB, 2);
  std::uint64_t const ordered = allocate(6_MiB, a.domain);
  work(a, ordered, 6 << 20, 3);
  allocator->free_in(ordered, a.domain);
  DeviceMemory said;
  ASSERT_EQ(allocator->memory_info(&said), Status::Ok);
  allocator->give_back(~0ull >> 1);
  DeviceMemory driver;
  device.memory(&driver);
  EXPECT_EQ(driver.free_bytes, said.free_bytes) << "all of it can go to others";
  EXPECT_NE(allocate(Bytes{said.free_bytes}), 0u) << "or be had in one piece";
  allocator->free(pin);
}

// Where work may hang on the host nobody waits for it; but a stream that is done is not taken for one that hangs.
TEST_F(OneStreamOrder, WhereWorkMayWaitForTheHostWhatTheStreamHasPassedIsFound) {
  allocator->host_may_hold_work();
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < 8; ++i) {
    blocks.push_back(allocate(4_MiB));
    work(a, blocks.back(), 4 << 20, i + 1);
  }
  for (std::size_t i = 0; i < 8; i += 2) allocator->free(blocks[i]);
  EXPECT_EQ(allocator->give_back(4 << 20), 0u) << "it has not passed, and is not waited for";
  EXPECT_EQ(allocate(16_MiB), 0u);
  EXPECT_EQ(statistics().waits, 0u);
  device.run_everything();
  EXPECT_EQ(allocator->give_back(4 << 20), 4u << 20);
  EXPECT_NE(allocate(16_MiB), 0u) << "the rest is stitched";
  EXPECT_EQ(statistics().waits, 0u);
}

TEST(KeptWord, WhateverHappenedBeforeWhatIsSaidToBeFreeCanBeGivenBack) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    tests::SimulatedDevice device({.capacity_bytes = 128 << 20}, Schedule::Random, seed);
    auto const allocator = Allocator::make(device, {.capacity_bytes = 128 << 20, .plan = seed % 2 == 0});
    std::vector<std::pair<StreamHandle, DomainId>> streams;
    for (unsigned i = 0; i < 1 + seed % 3; ++i) {
      StreamHandle const handle = device.make_stream();
      streams.emplace_back(handle, allocator->add_stream(handle));
    }
    std::vector<std::uint64_t> live;
    for (int i = 0; i < 400; ++i) {
      auto const& [handle, domain] = streams[random() % streams.size()];
      bool const ordered = random() % 2 == 0;
      if (random() % 3 != 0 || live.empty()) {
        std::uint64_t address = 0;
        std::uint64_t const bytes = 1 + random() % (random() % 2 == 0 ? 6 << 20 : 100'000);
        if (allocator->allocate({.bytes = bytes, .domain = ordered ? domain : DomainId::Shared}, &address) !=
            Status::Ok)
          continue;
        allocator->before_submission(domain);
        device.stamp(handle, address, bytes, address);
        allocator->after_submission(domain);
        live.push_back(address);
      } else {
        std::swap(live[random() % live.size()], live.back());
        // In the order of a stream that has not used it that would be a mistake of the program's.
        allocator->free(live.back());
        live.pop_back();
      }
    }
    DeviceMemory said, then;
    ASSERT_EQ(allocator->memory_info(&said), Status::Ok);
    allocator->give_back(~0ull >> 1);
    device.memory(&then);
    EXPECT_EQ(then.free_bytes, said.free_bytes);
    EXPECT_EQ(allocator->check(), "");
    EXPECT_TRUE(device.violations().empty()) << device.violations().front();
  }
}

}  // namespace
}  // namespace tidemark::allocator
