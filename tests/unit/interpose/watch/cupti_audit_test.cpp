// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_audit.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "interpose/watch/cupti_records.h"

namespace tidemark::interpose {
namespace {

using trace::Class;

class AuditTest : public testing::Test {
 protected:
  void cupti(bool released, std::uint64_t address, std::uint64_t bytes, std::uint32_t device = 0,
             std::uint32_t kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, std::uint32_t correlation = 1) {
    MemoryRecord r;
    r.operation =
        released ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    r.memory_kind = kind;
    r.address = address;
    r.size_bytes = bytes;
    r.device = device;
    r.correlation = correlation;
    audit.told(r);
  }
  static constexpr bool kAllocated = false, kReleased = true;

  // Large; and what it maps is the process's.
  std::unique_ptr<Audit> const owned_ = std::make_unique<Audit>();
  Audit& audit = *owned_;
};

TEST_F(AuditTest, WhatBothTellAgrees) {
  audit.allocated({.address = 0x1000, .size_bytes = 100});
  cupti(kAllocated, 0x1000, 100);
  cupti(kReleased, 0x1000, 100);  // before ours: the thread that told it was slower
  audit.released({.address = 0x1000, .size_bytes = 100});
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.rows[0].allocations, 1u);
  EXPECT_EQ(v.rows[0].agreeing, 1u);
  EXPECT_EQ(v.rows[0].agreeing_bytes, 100u);
  EXPECT_EQ(v.releases, 1u);
  EXPECT_EQ(v.sample_count, 0u);
}

TEST_F(AuditTest, AnAddressMayBeUsedManyTimesBeforeCuptiTells) {
  for (int i = 0; i < 1000; ++i) {
    audit.allocated({.address = 0x1000, .size_bytes = 100});
    audit.released({.address = 0x1000, .size_bytes = 100});
  }
  EXPECT_EQ(audit.verdict().unmatched(), 2000u);
  for (int i = 0; i < 1000; ++i) cupti(kAllocated, 0x1000, 100);
  for (int i = 0; i < 1000; ++i) cupti(kReleased, 0x1000, 100);
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
  EXPECT_EQ(audit.verdict().total().agreeing, 1000u);
}

TEST_F(AuditTest, WhatOneSideTellsAloneIsShown) {
  audit.allocated({.address = 0x1000, .size_bytes = 100, .device = 2});
  cupti(kAllocated, 0x2000, 300, 2);
  cupti(kReleased, 0x3000, 50, 2);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 3u);
  EXPECT_EQ(v.rows[2].allocations, 2u);
  EXPECT_EQ(v.rows[2].agreeing, 0u);
  EXPECT_EQ(v.rows[2].ours_alone_bytes, 100u);
  EXPECT_EQ(v.rows[2].cupti_alone_bytes, 300u);
  EXPECT_EQ(v.releases, 1u);
  EXPECT_EQ(v.releases_agreeing, 0u);
  ASSERT_EQ(v.sample_count, 3u);
  std::string all;
  for (std::size_t i = 0; i < 3; ++i) all += v.samples[i] + "\n";
  EXPECT_NE(all.find("the account alone: 1 allocation of 100 bytes at 0x1000, device 2"), std::string::npos) << all;
  EXPECT_NE(all.find("CUPTI alone: 1 allocation of 300 bytes at 0x2000, device 2"), std::string::npos) << all;
  EXPECT_NE(all.find("CUPTI alone: 1 release of 50 bytes at 0x3000, device 2"), std::string::npos) << all;
}

TEST_F(AuditTest, AnotherSizeOrDeviceIsNotTheSame) {
  audit.allocated({.address = 0x1000, .size_bytes = 100});
  cupti(kAllocated, 0x1000, 512);
  audit.allocated({.address = 0x2000, .size_bytes = 100, .device = 1});
  cupti(kAllocated, 0x2000, 100, 0);
  EXPECT_EQ(audit.verdict().unmatched(), 4u);
}

TEST_F(AuditTest, SamplesAreFew) {
  for (std::uint64_t i = 1; i <= 100; ++i) cupti(kAllocated, i << 9, 1);
  auto const v = audit.verdict();
  EXPECT_EQ(v.sample_count, Audit::kSamples);
  EXPECT_EQ(v.unmatched(), 100u);
}

TEST_F(AuditTest, HostMemoryHasARowOfItsOwn) {
  audit.allocated({.address = 0x1000, .size_bytes = 10, .block_class = Class::Pinned, .device = 1});
  audit.allocated({.address = 0x2000, .size_bytes = 20, .block_class = Class::Managed, .device = 1});
  cupti(kAllocated, 0x1000, 10, 0, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  cupti(kAllocated, 0x2000, 20, 3, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.rows[Audit::kHost].agreeing, 2u);
  EXPECT_EQ(v.rows[Audit::kHost].agreeing_bytes, 30u);
}

// An array has an address there and a handle here; one with levels is many blocks there and one here.
TEST_F(AuditTest, ArraysAreComparedByTheirSums) {
  constexpr std::uint32_t kArray = CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
  audit.allocated({.address = 0xaaaa, .size_bytes = 1024, .block_class = Class::Array, .device = 1});
  audit.allocated({.address = 0xbbbb, .size_bytes = 84, .block_class = Class::Array, .device = 1});
  audit.released({.address = 0xbbbb, .size_bytes = 84, .block_class = Class::Array, .device = 1});
  EXPECT_EQ(audit.verdict().unseen, 3u) << "not every CUPTI tells arrays";
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
  cupti(kAllocated, 0x5000, 1024, 1, kArray);
  EXPECT_EQ(audit.verdict().rows[1].ours_alone_bytes, 84u);
  EXPECT_NE(audit.verdict().unmatched(), 0u);
  for (std::uint64_t const level : {64u, 16u, 4u}) cupti(kAllocated, 0x6000, level, 1, kArray);
  for (std::uint64_t const level : {64u, 16u, 4u}) cupti(kReleased, 0x6000, level, 1, kArray);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.unseen, 0u);
  EXPECT_EQ(v.rows[1].allocations, 2u) << "as the account has them";
  EXPECT_EQ(v.rows[1].agreeing, 2u);
  EXPECT_EQ(v.rows[1].agreeing_bytes, 1108u);
  EXPECT_EQ(v.releases_agreeing, 1u);
}

TEST_F(AuditTest, AnArrayThatOnlyCuptiToldIsADifference) {
  cupti(kAllocated, 0x5000, 1024, 0, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 1u);
  EXPECT_EQ(v.rows[0].cupti_alone_bytes, 1024u);
  ASSERT_EQ(v.sample_count, 1u);
  EXPECT_EQ(v.samples[0], "arrays on device 0: allocated 0 bytes by the account, 1024 by CUPTI");
}

// Its end may be told, and then never for what CUPTI does not know.
TEST_F(AuditTest, RegisteredMemoryThatGoesWithItsContextIsNotMissed) {
  audit.released({.address = 0x1000, .doubt = Doubt::Context});
  audit.released({.address = 0x2000, .block_class = Class::Registered, .doubt = Doubt::Context});
  cupti(kReleased, 0x1000, 8);
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
  EXPECT_EQ(audit.verdict().unseen, 1u);
}

TEST_F(AuditTest, WhatCuptiNeedNotTellIsNoDifference) {
  for (Class const c : {Class::Mapping, Class::Imported, Class::Registered})
    audit.allocated({.address = 0x1000 + static_cast<std::uint64_t>(c) * 0x1000, .size_bytes = 1, .block_class = c});
  for (Class const c : {Class::Physical, Class::Reservation, Class::Graph, Class::Tensor})
    audit.allocated({.address = 0x100000, .size_bytes = 1, .block_class = c});
  audit.released({.address = 0x999000, .doubt = Doubt::Before});
  audit.released({.address = 0x888000, .doubt = Doubt::Context});
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.unseen, 5u);
  EXPECT_EQ(v.total().allocations, 0u);
}

TEST_F(AuditTest, WhatCuptiTellsOfThemIsChecked) {
  audit.allocated({.address = 0x1000, .size_bytes = 64, .block_class = Class::Mapping, .device = 1});
  cupti(kAllocated, 0x1000, 64, 1);
  cupti(kReleased, 0x999000, 64, 1);  // of a block from before
  audit.released({.address = 0x999000, .doubt = Doubt::Before});
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.unseen, 0u);
  EXPECT_EQ(v.rows[1].agreeing, 1u);
  EXPECT_EQ(v.releases_agreeing, 1u);
}

// Once CUPTI has told one of a kind, it tells them all.
TEST_F(AuditTest, WhatItToldOnceIsExpected) {
  for (std::uint64_t const address : {0x1000u, 0x2000u}) audit.released({.address = address, .doubt = Doubt::Context});
  audit.allocated({.address = 0x3000, .size_bytes = 1, .block_class = Class::Mapping});
  audit.released({.address = 0x5000, .doubt = Doubt::Before});
  audit.released({.address = 0x6000, .doubt = Doubt::Before});
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
  cupti(kReleased, 0x1000, 8);
  EXPECT_EQ(audit.verdict().unmatched(), 1u) << "the other one that went with a context";
  cupti(kReleased, 0x6000, 8);
  EXPECT_EQ(audit.verdict().unmatched(), 1u) << "what was there before is never missed";
  cupti(kReleased, 0x2000, 8);
  EXPECT_EQ(audit.verdict().unmatched(), 0u);
}

TEST_F(AuditTest, VariablesOfModulesAreCountedApart) {
  cupti(kAllocated, 0x1000, 4096, 0, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
  cupti(kReleased, 0x1000, 4096, 0, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
  cupti(kAllocated, 0x2000, 16, 0, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_EQ(v.static_bytes, 4112u);
}

TEST_F(AuditTest, MemoryOfGraphsIsForgiven) {
  auto const own = std::make_unique<Launches>();
  Launches& launches = *own;
  ASSERT_TRUE(launches.start());
  // The memory is told before the call that it came of.
  for (std::uint32_t i = 0; i < 200; ++i)
    cupti(kAllocated, 0x1000 + (i << 9), 64, 0, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 9);
  cupti(kAllocated, 0x900000, 64, 0, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 10);
  audit.forgive_graphs(launches);
  EXPECT_EQ(audit.verdict().unmatched(), 201u);
  launches.called(9, true);
  launches.called(10, false);
  audit.forgive_graphs(launches);
  auto const v = audit.verdict();
  EXPECT_EQ(v.unmatched(), 1u);
  EXPECT_EQ(v.graph_operations, 200u);
}

TEST_F(AuditTest, TooMuchThatWaitsIsAdmitted) {
  for (std::uint64_t i = 1; i <= Audit::kMostWaiting; ++i) cupti(kAllocated, i << 9, 1);
  EXPECT_FALSE(audit.verdict().overflowed);
  cupti(kAllocated, 0x7f0000000000, 1);
  EXPECT_TRUE(audit.verdict().overflowed);
  audit.allocated({.address = 1 << 9, .size_bytes = 1});  // what waits can still be answered
  EXPECT_EQ(audit.verdict().total().agreeing, 1u);
}

TEST_F(AuditTest, AKindThatIsNeverToldDoesNotFillTheMemory) {
  constexpr std::uint64_t kMany = 200'000;
  for (std::uint64_t i = 1; i <= kMany; ++i)
    audit.allocated({.address = i << 9, .size_bytes = 1, .block_class = Class::Mapping});
  auto const v = audit.verdict();
  EXPECT_EQ(v.unseen, kMany);
  EXPECT_EQ(v.unmatched(), 0u);
  EXPECT_FALSE(v.overflowed);
}

// Both sides in their own order, from many threads: in the end everything agrees, and one missing word is found.
TEST_F(AuditTest, TheOrderOfTellingDoesNotMatter) {
  constexpr std::size_t kThreads = 4, kOperations = 5000;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([this, t] {
      std::mt19937_64 random(t);
      for (std::size_t i = 0; i < kOperations; ++i) {
        std::uint64_t const address = (random() % 50 + 1) << 9, bytes = random() % 3 + 1;
        if (i == 17 && t == 2) continue;
        audit.allocated({.address = address, .size_bytes = bytes});
        audit.released({.address = address, .size_bytes = bytes});
      }
    });
  threads.emplace_back([this] {
    for (std::size_t t = 0; t < kThreads; ++t) {
      std::mt19937_64 random(t);
      for (std::size_t i = 0; i < kOperations; ++i) {
        std::uint64_t const address = (random() % 50 + 1) << 9, bytes = random() % 3 + 1;
        cupti(kReleased, address, bytes);
        cupti(kAllocated, address, bytes);
      }
    }
  });
  for (auto& t : threads) t.join();
  auto const v = audit.verdict();
  EXPECT_EQ(v.total().agreeing, kThreads * kOperations - 1);
  EXPECT_EQ(v.unmatched(), 2u);
}

}  // namespace
}  // namespace tidemark::interpose
