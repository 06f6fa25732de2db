// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

TEST(Reserved, IsWhatTheDriverSaysBeyondWhatWasThereBefore) {
  TraceMaker t;
  t.fact("device.0.baseline_bytes", "5000");
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 600});
  t.device_use(1, 11, {.used_bytes = 7000, .total_bytes = 100'000});
  t.free(1, 20, {.address = 0x1000});
  auto const s = summary_of(t);
  EXPECT_TRUE(s.reserved_from_driver);
  EXPECT_EQ(s.peak.live_bytes, 1024u);
  EXPECT_EQ(s.peak.reserved_bytes, 2000u) << "the driver's word after the allocation belongs to it";
  EXPECT_EQ(s.peak_reserved_bytes, 2000u);
  EXPECT_EQ(s.ledger.device_used_bytes, 7000u);
  EXPECT_EQ(s.ledger.cached_bytes, 976u);
}

TEST(Reserved, IsWhatTheDriverSaysOfThisProcessWhereItDoes) {
  TraceMaker t;
  t.fact("device.0.baseline_bytes", "5000");
  t.fact("device.0.context_bytes", "4000");
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 512});
  t.device_use(1, 11, {.used_bytes = 9000, .process_bytes = 2000});  // the rest is modules
  t.free(1, 20, {.address = 0x1000});
  t.device_use(1, 21, {.used_bytes = 7000, .process_bytes = 0});
  t.alloc(1, 30, {.address = 0x1000, .size_bytes = 256});
  auto const s = summary_of(t, {.at_ns = 30});
  EXPECT_EQ(s.peak.reserved_bytes, 2000u);
  EXPECT_EQ(s.at->reserved_bytes, 512u) << "nothing but the block: 0 was said, not left out";
  EXPECT_EQ(s.ledger.device_used_bytes, 9000u);
  EXPECT_EQ(s.ledger.other_processes_bytes, 1000u);
  EXPECT_EQ(s.ledger.residual_bytes, 2000) << "what came after the baseline and is no block";
}

TEST(Reserved, IsNeverBelowLive) {
  TraceMaker t;
  t.fact("device.0.baseline_bytes", "5000");
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 4096});
  t.device_use(1, 11, {.used_bytes = 100});
  EXPECT_EQ(summary_of(t).peak.reserved_bytes, 4096u);
}

TEST(Reserved, WithoutTheDriversWordItIsTheBlocksAndSaysSo) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 600});
  t.device_use(1, 11, {.used_bytes = 9'000'000});  // of whom, nobody knows
  auto const s = summary_of(t);
  EXPECT_FALSE(s.reserved_from_driver);
  EXPECT_EQ(s.peak.reserved_bytes, 1024u);
  EXPECT_EQ(s.ledger.device_used_bytes, std::nullopt);
}

TEST(Reserved, OtherSourcesThanTheDriverAreNotItsWord) {
  TraceMaker t;
  t.fact("device.0.baseline_bytes", "0");
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 600});
  t.device_use(1, 11, {.source = trace::DeviceUse::Nvml, .used_bytes = 9'000'000});
  EXPECT_FALSE(summary_of(t).reserved_from_driver);
}

TEST(Reserved, DevicesAreAddedUp) {
  TraceMaker t;
  t.fact("device.0.baseline_bytes", "100");
  t.fact("device.1.context_bytes", "200");
  t.device_use(1, 1, {.device = 0, .used_bytes = 10'100});
  t.device_use(1, 2, {.device = 1, .used_bytes = 20'200});
  t.alloc(1, 3, {.address = 0x1000, .size_bytes = 512});
  EXPECT_EQ(summary_of(t).peak.reserved_bytes, 30'000u);
  EXPECT_EQ(summary_of(t, {.filter = {.device = 0}}).peak.reserved_bytes, 10'000u);
}

}  // namespace
}  // namespace tidemark::analysis
