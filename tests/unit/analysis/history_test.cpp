// SPDX-License-Identifier: Apache-2.0
#include "analysis/history.h"

#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

TEST(History, ABlockHasItsLayerPhaseStepStackAndLifetime) {
  TraceMaker t;
  std::uint32_t const layer = t.path("attn", t.path("encoder"));
  t.step(1, 5, 3);
  t.scope(1, 10, layer);
  t.phase(1, 11, Phase::Backward);
  t.use_stack(1, t.stack({0xabc, 0xdef}));
  t.alloc(1, 20, {.address = 0x1000, .size_bytes = 100});
  t.free(1, 50, {.address = 0x1000});
  History const h = history_of(t);
  ASSERT_EQ(h.blocks.size(), 1u);
  Block const& b = h.blocks[0];
  EXPECT_EQ(h.layers[b.layer], "encoder.attn");
  EXPECT_EQ(b.phase, Phase::Backward);
  EXPECT_EQ(h.steps[b.step].step, 3u);
  EXPECT_NE(h.stacks[b.stack], 0u);
  EXPECT_EQ(b.born_ns, 20u);
  EXPECT_EQ(b.died_ns, 50u);
  EXPECT_EQ(rounded_bytes(b), 512u);
}

TEST(History, LayersOfOneNameAreOne) {
  TraceMaker t;
  std::uint32_t const whole = t.path("a.b"), part = t.path("b", t.path("a"));
  t.scope(1, 1, whole);
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 1});
  t.scope(1, 3, part);
  t.alloc(1, 4, {.address = 0x2000, .size_bytes = 1});
  History const h = history_of(t);
  EXPECT_EQ(h.blocks[0].layer, h.blocks[1].layer);
}

TEST(History, WhatIsSaidFirstHoldsFromTheBeginning) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 512});
  t.label(1, 2, 0x1000, Kind::Activation, t.string("scores"));
  auto const s = summary_of(t, {.largest_blocks = 1});
  EXPECT_EQ(s.peak.time_ns, 1u);
  EXPECT_EQ(of(s.peak.by_kind, "activation"), 512u);
  EXPECT_EQ(s.peak.kind_given_bytes, 512u);
  ASSERT_EQ(s.peak.largest.size(), 1u);
  EXPECT_EQ(s.peak.largest[0].name, "scores");
}

TEST(History, WhatIsSaidLaterHoldsFromThenOn) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 512});
  t.label(1, 20, 0x1000, Kind::Activation);
  t.alloc(1, 30, {.address = 0x2000, .size_bytes = 512});
  t.label(1, 40, 0x1000, Kind::Gradient);
  t.free(1, 50, {.address = 0x2000});
  EXPECT_EQ(of(summary_of(t, {.at_ns = 25}).at->by_kind, "activation"), 512u);
  EXPECT_EQ(of(summary_of(t, {.at_ns = 60}).at->by_kind, "gradient"), 512u);
  EXPECT_EQ(of(summary_of(t, {.at_ns = 60}).at->by_kind, "activation"), 0u);
}

TEST(History, WhatIsSaidOfAMappingIsOfTheMemoryBehindIt) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 77, .size_bytes = 4096, .block_class = Class::Physical});
  t.alloc(1, 2, {.address = 0x10000, .size_bytes = 8192, .block_class = Class::Reservation});
  t.alloc(1, 3, {.address = 0x10000, .size_bytes = 4096, .block_class = Class::Mapping, .parent = 77});
  t.label(1, 4, 0x10000, Kind::Parameter);
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 4096u) << "physical bytes count, addresses do not";
  EXPECT_EQ(of(s.peak.by_kind, "parameter"), 4096u);
}

TEST(History, StepsAreForAllThreads) {
  TraceMaker t;
  t.step(1, 10, 0);
  t.alloc(2, 15, {.address = 0x1000, .size_bytes = 1});
  t.step(1, 20, 1);
  t.step(2, 22, 1);  // heard of it late
  t.alloc(2, 25, {.address = 0x2000, .size_bytes = 1});
  t.step(2, 26, 0);  // counts for itself
  t.alloc(2, 27, {.address = 0x3000, .size_bytes = 1});
  t.step(1, 30, 0);  // begins again
  History const h = history_of(t);
  ASSERT_EQ(h.steps.size(), 3u);
  EXPECT_EQ(h.steps[1].step, 1u);
  EXPECT_EQ(h.steps[2].step, 0u);
  EXPECT_EQ(h.blocks[0].step, 0u);
  EXPECT_EQ(h.blocks[1].step, 1u);
  EXPECT_EQ(h.blocks[2].step, 1u);
}

TEST(History, ImpossibleSizesAreCountedAndCannotOverflowASum) {
  TraceMaker t;
  for (std::uint64_t i = 1; i <= 10; ++i)
    t.alloc(1, i, {.address = i << 12, .size_bytes = i % 2 == 0 ? ~std::uint64_t{0} : std::uint64_t{3} << 60});
  t.alloc(1, 20, {.address = 0x100000, .size_bytes = 512});
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, (std::uint64_t{3} << 60) + 512);
  ASSERT_EQ(s.source.oddities.size(), 1u);
  EXPECT_EQ(s.source.oddities[0].second, 9u);
}

TEST(History, KindsAndPhasesOfALaterVersionAreNoReasonToFail) {
  TraceMaker t;
  t.phase(1, 1, static_cast<Phase>(200));
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 512, .block_class = static_cast<Class>(15)});
  t.alloc(1, 3, {.address = 0x2000, .size_bytes = 512});
  t.label(1, 4, 0x2000, static_cast<Kind>(255));
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 512u);
  EXPECT_EQ(of(s.peak.by_kind, "other"), 512u);
  EXPECT_EQ(of(s.peak.by_phase, "unknown"), 512u);
}

}  // namespace
}  // namespace tidemark::analysis
