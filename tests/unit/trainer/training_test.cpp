// SPDX-License-Identifier: Apache-2.0
// The loss falls: every model, in each precision.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "kernels/elementwise.h"
#include "samples/trainer/loss_scale.h"
#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

struct Net {
  const char* name;
  Variables changes;
  std::size_t batch;
  int steps;
};
const Net kNets[] = {
    {"mlp", {{"width", "64"}, {"layers", "3"}}, 32, 15},
    {"vgg", {{"height", "16"}, {"width", "16"}, {"channels", "8"}, {"hidden", "32"}}, 16, 30},
    {"resnet", {{"height", "16"}, {"width", "16"}, {"channels", "8"}}, 16, 25},
    {"unet", {{"height", "16"}, {"width", "16"}, {"channels", "4"}}, 4, 20},
    {"lstm", {{"seq", "8"}, {"width", "32"}}, 16, 30},
    {"gru", {{"seq", "8"}, {"width", "32"}}, 16, 30},
    {"gpt", {{"seq", "14"}, {"width", "32"}, {"layers", "1"}, {"words", "16"}}, 8, 40},
    {"bert", {{"seq", "14"}, {"width", "32"}, {"layers", "1"}, {"words", "16"}, {"dropout", "0"}}, 16, 70},
};

class Training : public testing::TestWithParam<std::tuple<Net, Type>> {};

double mean(const double* first, int n) {
  return std::accumulate(first, first + n, 0.0) / n;
}

TEST_P(Training, LossFalls) {
  const Net& net = std::get<0>(GetParam());
  Graph const graph = model(net.name, "tiny", net.changes);
  Choices const choices{.batch = net.batch,
                        .type = std::get<1>(GetParam()),
                        .optimizer = Optimizer::Adam,
                        .check_finite = std::get<1>(GetParam()) == Type::F16};
  float const scale = choices.type == Type::F16 ? 1024.0f : 1.0f;
  Outcome const outcome = train(graph, choices, net.steps, {.rate = 5e-3f, .loss_scale = scale});
  for (double const loss : outcome.losses) ASSERT_TRUE(std::isfinite(loss));
  EXPECT_LT(mean(&outcome.losses[outcome.losses.size() - 3], 3), 0.7 * mean(outcome.losses.data(), 3));
  EXPECT_EQ(outcome.peak_bytes, outcome.planned_bytes);
}

std::string name_of(const testing::TestParamInfo<std::tuple<Net, Type>>& one) {
  constexpr const char* kNames[] = {"_fp32", "_fp16", "_bf16"};
  return std::string(std::get<0>(one.param).name) + kNames[static_cast<int>(std::get<1>(one.param))];
}
INSTANTIATE_TEST_SUITE_P(Models, Training,
                         testing::Combine(testing::ValuesIn(kNets), testing::Values(Type::F32, Type::F16, Type::BF16)),
                         name_of);

// 16 bits are close to float where nothing overflows: fp16 has 11 of them for a number's digits, bf16 8.
TEST(Precision, FirstGradientsAreClose) {
  Graph const graph = model("mlp", "tiny", {{"width", "64"}, {"layers", "3"}});
  Outcome const exact = train(graph, {.batch = 8}, 1);
  for (Type const type : {Type::F16, Type::BF16}) {
    Outcome const rounded = train(graph, {.batch = 8, .type = type}, 1);
    double difference = 0, size = 0;
    for (std::size_t p = 0; p < exact.gradients.size(); ++p)
      for (std::size_t i = 0; i < exact.gradients[p].size(); ++i) {
        difference += std::pow(exact.gradients[p][i] - rounded.gradients[p][i], 2);
        size += std::pow(exact.gradients[p][i], 2);
      }
    EXPECT_LT(std::sqrt(difference / size), type == Type::F16 ? 1e-2 : 5e-2);
  }
}

// A scale that sends gradients beyond 65504 skips the step and leaves the parameters alone.
TEST(LossScaling, AnOverflowSkipsTheStep) {
  Graph const graph = model("mlp", "tiny", {{"width", "16"}, {"layers", "2"}});
  Choices const choices{.batch = 4, .type = Type::F16, .optimizer = Optimizer::Momentum, .check_finite = true};
  Settings const settings{.rate = 0.01f, .loss_scale = 1e30f};
  Session session(graph, choices, settings);
  Plan const plan = plan_training(graph, session.fixed(), choices);
  void* const weight = session.address(session.fixed().parameters[0].value);
  std::vector<float> const before = to_host(weight, graph.parameters[0].elements);
  EXPECT_TRUE(session.run(plan, 1).skipped);
  EXPECT_EQ(to_host(weight, graph.parameters[0].elements), before);
  session.settings().loss_scale = 128;
  EXPECT_FALSE(session.run(plan, 2).skipped);
  EXPECT_NE(to_host(weight, graph.parameters[0].elements), before);
}

// States of a byte train as states of a float do.
TEST(Adam8bit, FollowsAdam) {
  Graph const graph = model("gru", "tiny", {{"seq", "8"}, {"width", "32"}});
  auto const last = [&](Optimizer optimizer) {
    Outcome const outcome = train(graph, {.batch = 16, .optimizer = optimizer}, 40, {.rate = 5e-3f});
    return mean(&outcome.losses[outcome.losses.size() - 5], 5);
  };
  double const exact = last(Optimizer::Adam), small = last(Optimizer::Adam8bit);
  EXPECT_LT(small, 1.5 * exact);
  EXPECT_LT(small, 0.5);
}

// Powers of two only move the exponent.
TEST(LossScaling, ChangesNoBitInFloat) {
  Graph const graph = model("mlp", "tiny", {{"width", "16"}, {"layers", "2"}});
  Outcome const plain = train(graph, {.batch = 4}, 3, {.rate = 0.05f});
  Outcome const scaled = train(graph, {.batch = 4}, 3, {.rate = 0.05f, .loss_scale = 4096});
  EXPECT_EQ(plain.parameters, scaled.parameters);
}

TEST(LossScale, HalvesAfterAnOverflowAndDoublesAfterTwoThousandGoodSteps) {
  LossScale scale(65536, true);
  scale.note(true);
  EXPECT_EQ(scale.value(), 32768);
  for (std::uint64_t i = 0; i < LossScale::kStepsToGrow; ++i) scale.note(false);
  EXPECT_EQ(scale.value(), 65536);
  LossScale fixed(128, false);
  fixed.note(true);
  EXPECT_EQ(fixed.value(), 128);
}

// Evaluation: what is kept or not changes nothing; running statistics stand in for the batch's.
TEST(Evaluation, IsTheSameWithAndWithoutKeeping) {
  Graph const graph = model("resnet", "tiny", {{"height", "8"}, {"width", "8"}, {"channels", "4"}});
  Choices const choices{.batch = 4};
  Session session(graph, choices, {.rate = 0.05f});
  Plan const plan = plan_training(graph, session.fixed(), choices);
  Plan const keeping = plan_evaluation(graph, session.fixed(), choices, {.batch = 8, .no_grad = false});
  Plan const without = plan_evaluation(graph, session.fixed(), choices, {.batch = 8, .no_grad = true});
  for (std::uint64_t step = 1; step <= 3; ++step) session.run(plan, step);
  std::uint64_t const live = session.device().account().live_bytes;
  double const loss = session.evaluate(keeping, 3).loss;
  EXPECT_EQ(session.evaluate(without, 3).loss, loss);
  EXPECT_EQ(session.device().account().live_bytes, live);
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_LT(peak_live_bytes(without), peak_live_bytes(keeping));
}

// A loss that is kept is a block per step; of an evaluation it holds all that a backward pass would have read.
TEST(KeptLoss, LeaksABlockPerStep) {
  Graph const graph = model("mlp", "tiny", {{"width", "16"}, {"layers", "2"}});
  auto const end = [&](int steps) { return train(graph, {.batch = 4, .keep_loss = true}, steps).end_bytes; };
  EXPECT_EQ(end(5) - end(2), 3 * 512u);
  Choices const choices{.batch = 4, .keep_loss = true};
  Session session(graph, choices, {});
  Plan const keeping = plan_evaluation(graph, session.fixed(), choices, {.batch = 4});
  Plan const without = plan_evaluation(graph, session.fixed(), choices, {.batch = 4, .no_grad = true});
  std::uint64_t const before = session.device().account().live_bytes;
  session.evaluate(without, 1);
  EXPECT_EQ(session.device().account().live_bytes - before, 512u);
  session.evaluate(keeping, 2);
  // input 4 * 784 * 4, two hidden layers 4 * 16 * 4, probabilities 4 * 10 * 4, targets 16 bytes, the loss
  EXPECT_EQ(session.device().account().live_bytes - before, 512u + 12800u + 5 * 512u);
}

}  // namespace
}  // namespace tidemark::trainer
