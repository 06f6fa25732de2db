// SPDX-License-Identifier: Apache-2.0
#include "analysis/summarize.h"

#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

TraceMaker three_steps() {
  TraceMaker t;
  std::uint32_t const layer = t.path("head");
  std::uint64_t now = 0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    t.step(1, now += 10, step);
    t.phase(1, now += 10, Phase::Forward);
    t.scope(1, now += 10, layer);
    t.alloc(1, now += 10, {.address = 0x1000, .size_bytes = 1024 * (step + 1)});
    t.label(1, now += 10, 0x1000, Kind::Activation);
    t.scope(1, now += 10, 0);
    t.alloc(1, now += 10, {.address = (0x10 + step) << 12, .size_bytes = 512});
    t.free(1, now += 10, {.address = 0x1000});
  }
  return t;
}

TEST(Summarize, ThePeakIsTheInstantOfLargestLiveBytes) {
  auto const s = summary_of(three_steps());
  EXPECT_EQ(s.peak.live_bytes, 3072u + 3 * 512);
  EXPECT_EQ(s.peak.time_ns, 230u);
  EXPECT_EQ(s.peak.step, 2u);
  EXPECT_EQ(s.peak.phase, "forward");
  EXPECT_EQ(s.peak.layer, "(unscoped)");
  EXPECT_EQ(of(s.peak.by_layer, "head"), 3072u);
  EXPECT_EQ(of(s.peak.by_step, "step 0"), 512u);
  EXPECT_EQ(s.totals.allocations, 6u);
  EXPECT_EQ(s.totals.frees, 3u);
  EXPECT_EQ(s.totals.requested_bytes, 1024u * 6 + 3 * 512);
  EXPECT_EQ(s.end_live_bytes, 1536u);
}

TEST(Summarize, StepsHaveTheirOwnPeaksAndEnds) {
  auto const s = summary_of(three_steps());
  ASSERT_EQ(s.steps.size(), 3u);
  EXPECT_EQ(s.steps[0].peak_live_bytes, 1536u);
  EXPECT_EQ(s.steps[0].end_live_bytes, 512u);
  EXPECT_EQ(s.steps[1].peak_live_bytes, 2048u + 2 * 512);
  EXPECT_EQ(s.steps[2].end_live_bytes, 1536u);
  EXPECT_EQ(s.steps[2].allocations, 2u);
}

TEST(Summarize, AnotherInstantByTimeOrStep) {
  auto const first = summary_of(three_steps(), {.at_step = 0});
  ASSERT_TRUE(first.at);
  EXPECT_EQ(first.at->live_bytes, 1536u);
  EXPECT_EQ(first.at->step, 0u);
  EXPECT_EQ(first.peak.live_bytes, 3072u + 3 * 512) << "the peak stays the peak";
  auto const early = summary_of(three_steps(), {.at_ns = 45});
  EXPECT_EQ(early.at->live_bytes, 1024u);
  EXPECT_EQ(summary_of(three_steps(), {.at_ns = 39}).at->live_bytes, 0u);
  EXPECT_EQ(summary_of(three_steps(), {.at_ns = kNever}).at->live_bytes, 1536u);
}

TEST(Summarize, AStepThatIsNotThereIsAnErrorThatSaysWhichAre) {
  auto const s = ask(three_steps(), {.at_step = 9});
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().what.find("no step 9"), std::string::npos);
  EXPECT_NE(s.error().hint.find("0 to 2"), std::string::npos);
}

TEST(Summarize, LayersKeepTheirActivationsInATimeline) {
  auto const s = summary_of(three_steps(), {.timeline_points = 24, .layer_timelines = true});
  ASSERT_FALSE(s.layers.empty());
  LayerRow const& head = s.layers[0];
  EXPECT_EQ(head.name, "head");
  EXPECT_EQ(head.peak_activation_bytes, 3072u);
  EXPECT_EQ(head.allocations, 3u);
  ASSERT_EQ(head.activation_timeline.size(), 24u);
  std::uint64_t highest = 0, before = 0;
  for (auto const& [time_ns, bytes] : head.activation_timeline) {
    EXPECT_GE(time_ns, before);
    before = time_ns;
    highest = std::max(highest, bytes);
  }
  EXPECT_EQ(highest, 3072u);
  EXPECT_EQ(head.activation_timeline.back().second, 3072u) << "within the last share it was still alive";
}

TEST(Summarize, StacksAreRowsAndHaveFramesWhereTheyAreAskedFor) {
  TraceMaker t;
  std::uint32_t const deep = t.stack({0x1000, 0x2000}), other = t.stack({0x3000});
  t.use_stack(1, deep);
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 1024});
  t.use_stack(1, other);
  t.alloc(1, 2, {.address = 0x2000, .size_bytes = 512});
  auto const plain = summary_of(t);
  EXPECT_EQ(of(plain.peak.by_stack, "stack " + std::to_string(deep)), 1024u);
  EXPECT_EQ(of(plain.peak.by_stack, "stack " + std::to_string(other)), 512u);
  auto const named = summary_of(t, {.named_stacks = 1});
  ASSERT_EQ(named.peak.by_stack.size(), 2u);
  EXPECT_EQ(named.peak.by_stack[0].frames.size(), 2u);
  EXPECT_EQ(named.peak.by_stack[0].name, named.peak.by_stack[0].frames[0]);
  EXPECT_TRUE(named.peak.by_stack[1].frames.empty());
}

TEST(Summarize, ClassesAreAccountedApart) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 100, .block_class = Class::Pinned});
  t.alloc(1, 2, {.address = 0x2000, .size_bytes = 200, .block_class = Class::Managed});
  t.alloc(1, 3, {.address = 0x3000, .size_bytes = 300, .block_class = Class::Array});
  t.free(1, 4, {.address = 0x1000, .block_class = Class::Pinned});
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 512u) << "only what is on the device";
  ASSERT_EQ(s.classes.size(), 3u);
  auto const row = [&](std::string_view name) {
    for (ClassRow const& c : s.classes)
      if (c.name == name) return c;
    return ClassRow{};
  };
  EXPECT_EQ(row("pinned").peak_bytes, 100u);
  EXPECT_EQ(row("pinned").end_bytes, 0u);
  EXPECT_EQ(row("managed").end_bytes, 200u);
  EXPECT_EQ(row("array").peak_bytes, 512u);
}

TEST(Summarize, FailuresAreThereWithTheirText) {
  TraceMaker t;
  t.scope(1, 1, t.path("head"));
  t.failure(1, 2, {.device = 1, .error = 2, .size_bytes = 44, .free_bytes = 30, .text = t.string("who held it")});
  auto const s = summary_of(t);
  ASSERT_EQ(s.failures.size(), 1u);
  EXPECT_EQ(s.failures[0].post_mortem, "who held it");
  EXPECT_EQ(s.failures[0].layer, "head");
  EXPECT_EQ(s.failures[0].device, 1u);
}

TEST(Summarize, TheRunIsDescribedByHeaderAndFacts) {
  TraceMaker t;
  t.header().mode = trace::Mode::Cache;
  t.header().exit_status = 9;
  t.header().lost[0] = 5;
  t.fact("program.command", R"(["./train","--lr","0.1"])");
  t.fact("device.count", "2");
  t.fact("device.0.name", "A");
  t.fact("device.1.name", "B");
  t.fact("device.1.total_bytes", "1000");
  t.fact("device.1.software", "1");
  auto const s = summary_of(t);
  EXPECT_EQ(s.source.mode, "cache");
  EXPECT_EQ(s.source.exit_code, 137);
  EXPECT_FALSE(s.source.complete);
  EXPECT_EQ(s.source.lost_events, 5u);
  EXPECT_EQ(s.source.command, (std::vector<std::string>{"./train", "--lr", "0.1"}));
  ASSERT_EQ(s.devices.size(), 2u);
  EXPECT_EQ(s.devices[1].name, "B");
  EXPECT_EQ(s.devices[1].total_bytes, 1000u);
  EXPECT_TRUE(s.devices[1].software);
}

TEST(Summarize, ACommandThatIsNoJsonIsTakenAsItIs) {
  TraceMaker t;
  t.fact("program.command", "[\"./train");
  EXPECT_EQ(summary_of(t).source.command, (std::vector<std::string>{"[\"./train"}));
}

TEST(Summarize, ATraceWithoutEventsHasAnEmptySummary) {
  auto const s = summary_of(TraceMaker{}, {.timeline_points = 10, .layer_timelines = true, .largest_blocks = 5});
  EXPECT_EQ(s.peak.live_bytes, 0u);
  EXPECT_TRUE(s.peak.by_layer.empty());
  EXPECT_TRUE(s.layers.empty());
  EXPECT_EQ(s.timeline.size(), 10u);
}

}  // namespace
}  // namespace tidemark::analysis
