// SPDX-License-Identifier: Apache-2.0
// Tricks that promise the same bits: losses, all gradients of all steps, parameters and running statistics are compared
// byte by byte with a plain training's.
#include <gtest/gtest.h>

#include "samples/trainer/choose.h"
#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_TRUE(same_bits(a.gradients, b.gradients));
  EXPECT_TRUE(same_bits(a.parameters, b.parameters));
  EXPECT_TRUE(same_bits(a.statistics, b.statistics));
}

struct Net {
  const char* name;
  Variables changes;
  std::size_t batch;
};
// As small as they can be while each op of the model still does its work.
const Net kNets[] = {
    {"mlp", {{"width", "32"}, {"layers", "5"}}, 8},
    {"vgg", {{"height", "16"}, {"width", "16"}, {"channels", "4"}, {"hidden", "16"}, {"dropout", "0.3"}}, 4},
    {"resnet", {{"height", "8"}, {"width", "8"}, {"channels", "4"}, {"groups", "2"}, {"n1", "2"}}, 4},
    {"unet", {{"height", "16"}, {"width", "16"}, {"channels", "4"}, {"groups", "2"}}, 4},
    {"lstm", {{"seq", "5"}, {"features", "6"}, {"width", "8"}, {"layers", "3"}}, 4},
    {"gru", {{"seq", "5"}, {"features", "6"}, {"width", "8"}, {"layers", "3"}}, 4},
    {"gpt", {{"seq", "6"}, {"width", "16"}, {"heads", "2"}, {"words", "11"}, {"dropout", "0.1"}}, 4},
    {"bert", {{"seq", "6"}, {"width", "16"}, {"heads", "2"}, {"words", "11"}, {"layers", "3"}}, 4},
};

class Exactness : public testing::TestWithParam<Net> {
 protected:
  static constexpr int kSteps = 3;
  Graph graph(Variables more = {}) const {
    Variables changes = GetParam().changes;
    for (auto const& [key, value] : more) changes.insert_or_assign(key, value);
    return model(GetParam().name, "tiny", changes);
  }
  Choices plain(Optimizer optimizer = Optimizer::Momentum) const {
    return {.batch = GetParam().batch, .optimizer = optimizer};
  }
};

TEST_P(Exactness, SameBitsTwice) {
  Graph const g = graph();
  expect_same(train(g, plain(), kSteps), train(g, plain(), kSteps));
}

TEST_P(Exactness, SameBitsWithEachTrick) {
  Graph const g = graph();
  Outcome const baseline = train(g, plain(), kSteps);
  auto const with = [&](auto change) {
    Choices choices = plain();
    change(choices);
    Outcome const outcome = train(g, choices, kSteps);
    expect_same(outcome, baseline);
    EXPECT_EQ(outcome.losses, baseline.losses);
    return outcome.peak_bytes;
  };
  EXPECT_LE(with([](Choices& c) { c.checkpoint = Checkpoint::Sqrt; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.in_place = true; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.delete_early = true; }), baseline.peak_bytes);
  EXPECT_GE(with([](Choices& c) { c.zero_gradients = true; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.step_in_backward = true; }), baseline.peak_bytes);
  EXPECT_GE(with([](Choices& c) { c.keep_loss = true; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.offload = true; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.checkpoint = Checkpoint::Optimal; }), baseline.peak_bytes);
  EXPECT_LE(with([](Choices& c) { c.selective = true; }), baseline.peak_bytes);
  with([](Choices& c) {
    c.offload = true;
    c.checkpoint = Checkpoint::Sqrt;
    c.in_place = c.delete_early = c.step_in_backward = true;
  });
  with([](Choices& c) {
    c.checkpoint = Checkpoint::Optimal;
    c.selective = c.in_place = c.delete_early = c.step_in_backward = true;
  });
  with([](Choices& c) {
    c.checkpoint = Checkpoint::Sqrt;
    c.selective = c.offload = c.in_place = true;
  });
  // The least there is: stages run again and again, running statistics move once.
  Choices tight = plain();
  tight.checkpoint = Checkpoint::Budget;
  tight.budget_bytes = 1;
  auto const refused = choose_schedule(g, lay_out(g, tight), tight);
  ASSERT_FALSE(refused);
  std::uint64_t const least = std::stoull(refused.error().hint.substr(std::string_view("budget:").size()));
  EXPECT_LE(with([&](Choices& c) {
              c.checkpoint = Checkpoint::Budget;
              c.budget_bytes = least;
            }),
            least);
}

TEST_P(Exactness, AccumulationSumsToTheWholeBatchsBits) {
  Graph const g = graph({{"norm", "gn"}});
  Choices whole = plain();
  whole.chunk = 1;
  Outcome const baseline = train(g, whole, kSteps);
  for (std::size_t const parts : {std::size_t{2}, GetParam().batch}) {
    Choices in_parts = whole;
    in_parts.accumulate = parts;
    Outcome const outcome = train(g, in_parts, kSteps);
    expect_same(outcome, baseline);
    EXPECT_NEAR(outcome.losses.back(), baseline.losses.back(), 1e-5);
    in_parts.checkpoint = Checkpoint::Sqrt;
    in_parts.in_place = true;
    expect_same(train(g, in_parts, kSteps), baseline);
  }
}

TEST_P(Exactness, FusedAdamTakesTheSameStep) {
  Graph const g = graph();
  for (Optimizer const optimizer : {Optimizer::Adam, Optimizer::AdamW}) {
    Choices fused = plain(optimizer);
    fused.fused = true;
    Settings const settings{.rate = 1e-3f, .weight_decay = 0.01f};
    Outcome const in_passes = train(g, plain(optimizer), kSteps, settings);
    expect_same(train(g, fused, kSteps, settings), in_passes);
    fused.step_in_backward = true;
    expect_same(train(g, fused, kSteps, settings), in_passes);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Exactness, testing::ValuesIn(kNets),
                         [](const testing::TestParamInfo<Net>& one) { return std::string(one.param.name); });

// Large enough that most of what is kept leaves the device.
TEST(Offload, GivesTheSameBitsForLessMemory) {
  Graph const g = model("mlp", "tiny", {{"width", "128"}, {"layers", "12"}});
  Choices const plain{.batch = 512, .delete_early = true};
  Choices away = plain;
  away.offload = true;
  Outcome const baseline = train(g, plain, 3), outcome = train(g, away, 3);
  expect_same(outcome, baseline);
  EXPECT_EQ(outcome.peak_bytes, outcome.planned_bytes);
  EXPECT_LT(outcome.peak_bytes * 3, baseline.peak_bytes * 2);
  away.accumulate = 2;
  away.chunk = 256;
  Choices pinned = plain;
  pinned.chunk = 256;
  expect_same(train(g, away, 2), train(g, pinned, 2));
}

// What accumulation cannot keep: statistics of a part are not the batch's.
TEST(BatchNorm, AccumulationChangesGradients) {
  Graph const g = model("resnet", "tiny", {{"height", "8"}, {"width", "8"}, {"channels", "4"}});
  Choices const whole{.batch = 4, .chunk = 1};
  Choices in_parts = whole;
  in_parts.accumulate = 2;
  EXPECT_FALSE(same_bits(train(g, whole, 1).gradients, train(g, in_parts, 1).gradients));
}

}  // namespace
}  // namespace tidemark::trainer
