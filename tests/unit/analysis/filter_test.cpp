// SPDX-License-Identifier: Apache-2.0
#include "analysis/filter.h"

#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

TEST(Glob, StarsAndQuestionMarksStandForText) {
  EXPECT_TRUE(matches_glob("encoder.*", "encoder.3.attn"));
  EXPECT_TRUE(matches_glob("*.attn", "encoder.3.attn"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("enc?der*.3.*", "encoder.3.attn"));
  EXPECT_TRUE(matches_glob("*a*b*c", "xxabxbxc"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("encoder", "encoder.3"));
  EXPECT_FALSE(matches_glob("?", ""));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Glob, ManyStarsTakeNoTimeToSpeakOf) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "*a";
  EXPECT_FALSE(matches_glob(glob + "b", std::string(10'000, 'a')));
}

TraceMaker two_devices() {
  TraceMaker t;
  std::uint32_t const a = t.path("a"), b = t.path("b", a);
  t.scope(1, 1, a);
  t.phase(1, 2, Phase::Forward);
  t.alloc(1, 3, {.address = 0x1000, .size_bytes = 512});
  t.label(1, 4, 0x1000, Kind::Activation);
  t.step(1, 5, 7);
  t.use_device(1, 1);
  t.scope(1, 6, b);
  t.phase(1, 7, Phase::Backward);
  t.alloc(1, 8, {.address = 0x2000, .size_bytes = 1024});
  t.free(1, 9, {.address = 0x1000});
  t.alloc(1, 10, {.address = 0x3000, .size_bytes = 256});
  return t;
}

TEST(Filter, CountsOnlyWhatMatches) {
  auto const peak = [](Filter filter) { return summary_of(two_devices(), {.filter = filter}).peak.live_bytes; };
  EXPECT_EQ(peak({}), 1536u);
  EXPECT_EQ(peak({.layer = "a"}), 512u);
  EXPECT_EQ(peak({.layer = "a*"}), 1536u);
  EXPECT_EQ(peak({.layer = "a.b"}), 1536u);
  EXPECT_EQ(peak({.kind = Kind::Activation}), 512u);
  EXPECT_EQ(peak({.kind = Kind::Parameter}), 0u);
  EXPECT_EQ(peak({.phase = Phase::Backward}), 1536u);
  EXPECT_EQ(peak({.step = 7}), 1536u);
  EXPECT_FALSE(ask(two_devices(), {.filter = {.step = 0}}).ok()) << "what came before the first step is of no step";
  EXPECT_EQ(peak({.device = 0}), 512u);
  EXPECT_EQ(peak({.phase = Phase::Forward, .device = 1}), 0u);
}

TEST(Filter, ABlockLeavesWhenItIsCalledSomethingElse) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 512});
  t.label(1, 2, 0x1000, Kind::Activation);
  t.alloc(1, 3, {.address = 0x2000, .size_bytes = 512});
  t.label(1, 4, 0x2000, Kind::Activation);
  t.label(1, 5, 0x1000, Kind::Gradient);
  t.free(1, 6, {.address = 0x1000});
  auto const activations = summary_of(t, {.filter = {.kind = Kind::Activation}});
  EXPECT_EQ(activations.peak.live_bytes, 1024u);
  EXPECT_EQ(activations.end_live_bytes, 512u);
  auto const gradients = summary_of(t, {.filter = {.kind = Kind::Gradient}});
  EXPECT_EQ(gradients.peak.live_bytes, 512u);
  EXPECT_EQ(gradients.peak.time_ns, 5u);
  EXPECT_EQ(gradients.end_live_bytes, 0u);
}

TEST(Filter, DevicesHavePeaksOfTheirOwn) {
  auto const both = summary_of(two_devices());
  ASSERT_EQ(both.devices.size(), 2u);
  EXPECT_EQ(both.devices[0].peak_live_bytes, 512u);
  EXPECT_EQ(both.devices[1].peak_live_bytes, 1536u);
  auto const one = summary_of(two_devices(), {.filter = {.device = 1}});
  ASSERT_EQ(one.devices.size(), 1u);
  EXPECT_EQ(one.devices[0].number, 1u);
}

TEST(Filter, WhatATraceDoesNotHaveIsAnErrorThatSaysWhatItHas) {
  TraceMaker t;
  t.scope(1, 1, t.path("transformer.block.0"));
  t.step(1, 2, 5);
  t.alloc(1, 3, {.address = 0x1000, .size_bytes = 512});
  auto const said = [&](const Filter& filter) {
    auto const answer = ask(t, {.filter = filter});
    if (answer.ok()) return std::string("ok");
    EXPECT_EQ(answer.error().code, Errc::InvalidArgument);
    return answer.error().what.substr(answer.error().what.find(": ") + 2) + "; " + answer.error().hint;
  };
  EXPECT_EQ(said({.step = 9}), "no step 9; the trace has steps 5 to 5");
  EXPECT_EQ(said({.device = 3}), "no device 3; the trace has device 0");
  EXPECT_EQ(said({.layer = "nosuch"}),
            "no layer matches 'nosuch'; the trace has transformer.block.0; * stands for any text");
  EXPECT_EQ(said({.layer = "transformer"}),
            "no layer matches 'transformer'; for the layers inside it write 'transformer.*'");
  EXPECT_EQ(said({.layer = "transformer.*", .step = 5, .device = 0}), "ok");
  EXPECT_EQ(said({.kind = Kind::Gradient}), "ok") << "there could have been one: none is an answer";
}

}  // namespace
}  // namespace tidemark::analysis
