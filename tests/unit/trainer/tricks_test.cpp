// SPDX-License-Identifier: Apache-2.0
// Tricks that change ops: how far their gradients are from the plain op's, and that they keep the promises which the
// plain ones keep (the same bits under recomputation and accumulation).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

double gradients_apart(const Outcome& a, const Outcome& b) {
  return difference(a.gradients, b.gradients);
}
bool same_parameters(const Outcome& a, const Outcome& b) {
  return same_bits(a.parameters, b.parameters);
}

// 70 moments are three tiles.
Graph attending(const char* name, bool efficient, const char* seq = "70") {
  Graph graph = model(name, "tiny", {{"seq", seq}, {"width", "32"}, {"heads", "4"}, {"words", "31"}, {"layers", "2"}});
  if (efficient) use_efficient_attention(graph);
  return graph;
}

TEST(EfficientAttention, GradientsAreWithinATolerance) {
  for (const char* const name : {"gpt", "bert"}) {
    Graph const plain = attending(name, false), efficient = attending(name, true);
    Outcome const a = train(plain, {.batch = 3}, 1), b = train(efficient, {.batch = 3}, 1);
    EXPECT_LT(gradients_apart(a, b), 1e-5) << name;
    EXPECT_NEAR(a.losses[0], b.losses[0], 1e-5) << name;
    EXPECT_EQ(b.peak_bytes, b.planned_bytes);
    for (Type const type : {Type::F16, Type::BF16}) {
      float const scale = type == Type::F16 ? 256.0f : 1.0f;
      Outcome const rounded = train(efficient, {.batch = 3, .type = type}, 1, {.rate = 0.05f, .loss_scale = scale});
      Outcome const plainly = train(plain, {.batch = 3, .type = type}, 1, {.rate = 0.05f, .loss_scale = scale});
      EXPECT_LT(gradients_apart(plainly, rounded), type == Type::F16 ? 1e-2 : 6e-2) << name;
    }
  }
}

TEST(EfficientAttention, ComputesTheSameBitsAgainAndInParts) {
  Graph const graph = attending("bert", true);
  Outcome const whole = train(graph, {.batch = 4, .chunk = 1}, 2);
  EXPECT_TRUE(same_parameters(whole, train(graph, {.batch = 4, .accumulate = 4, .chunk = 1}, 2)));
  EXPECT_TRUE(same_parameters(whole, train(graph, {.batch = 4, .chunk = 1, .checkpoint = Checkpoint::Sqrt}, 2)));
  EXPECT_TRUE(same_parameters(whole, train(graph, {.batch = 4, .chunk = 1, .selective = true}, 2)));
}

// What is kept is less by the probabilities of each layer, NH B T^2 floats, and more by NH B T of them.
TEST(EfficientAttention, KeepsARowsNumberInsteadOfTheRow) {
  std::size_t const heads = 4, batch = 3, length = 128, layers = 2;
  auto const kept = [&](bool efficient) {
    Graph const graph = attending("gpt", efficient, "128");
    Choices const choices{.batch = batch, .delete_early = true};
    Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
    return left_behind(plan);
  };
  EXPECT_EQ(kept(false) - kept(true), layers * (heads * batch * length * length * 4 - heads * batch * length * 4));
}

TEST(ChunkedLoss, GradientsAreWithinATolerance) {
  for (const char* const name : {"gpt", "mlp"}) {
    Variables const changes = std::string_view(name) == "gpt"
                                  ? Variables{{"seq", "9"}, {"width", "16"}, {"heads", "2"}, {"words", "31"}}
                                  : Variables{{"width", "32"}, {"layers", "2"}};
    Graph const plain = model(name, "tiny", changes);
    Outcome const expected = train(plain, {.batch = 5}, 1);
    for (std::size_t const rows : {1, 4, 1000}) {
      Graph chunked = plain;
      ASSERT_TRUE(fuse_cross_entropy(chunked, rows).ok());
      Outcome const got = train(chunked, {.batch = 5}, 1);
      EXPECT_LT(gradients_apart(expected, got), 2e-6) << name << " in " << rows;
      EXPECT_NEAR(expected.losses[0], got.losses[0], 1e-6);
      EXPECT_EQ(got.peak_bytes, got.planned_bytes);
      Outcome const half = train(chunked, {.batch = 5, .type = Type::F16}, 1, {.rate = 0.05f, .loss_scale = 256});
      EXPECT_LT(
          gradients_apart(train(plain, {.batch = 5, .type = Type::F16}, 1, {.rate = 0.05f, .loss_scale = 256}), half),
          1e-2);
    }
  }
}

// A pinned order holds for chunks of rows too: none reaches from one chunk of samples into the next.
TEST(ChunkedLoss, PartsOfABatchSumToTheWholesBits) {
  Graph graph = model("gpt", "tiny", {{"seq", "9"}, {"width", "16"}, {"heads", "2"}, {"words", "31"}});
  ASSERT_TRUE(fuse_cross_entropy(graph, 4).ok());
  Outcome const whole = train(graph, {.batch = 4, .chunk = 2}, 3);
  EXPECT_TRUE(same_parameters(whole, train(graph, {.batch = 4, .accumulate = 2, .chunk = 2}, 3)));
  EXPECT_TRUE(same_parameters(whole, train(graph, {.batch = 4, .chunk = 2, .checkpoint = Checkpoint::Optimal}, 3)));
}

// Logits and probabilities of N rows go; a chunk's are there for a moment.
TEST(ChunkedLoss, LogitsAreThereInChunksOnly) {
  std::size_t const words = 4096, rows = 8 * 64;
  Graph const plain = model("gpt", "tiny", {{"words", "4096"}, {"layers", "1"}, {"width", "32"}});
  Graph chunked = plain;
  ASSERT_TRUE(fuse_cross_entropy(chunked, 16).ok());
  auto const peak = [&](const Graph& graph) {
    Choices const choices{.batch = 8, .delete_early = true, .step_in_backward = true};
    return peak_live_bytes(plan_training(graph, lay_out(graph, choices), choices));
  };
  // At its peak the plain loss has probabilities and the gradient of all logits.
  EXPECT_GT(peak(plain), 2 * rows * words * 4);
  EXPECT_LT(peak(chunked), rows * words * 4);
}

TEST(Adafactor, Trains) {
  Graph const graph = model("gru", "tiny", {{"seq", "8"}, {"width", "32"}});
  Outcome const outcome = train(graph, {.batch = 16, .optimizer = Optimizer::Adafactor}, 40, {.rate = 5e-3f});
  EXPECT_LT(outcome.losses.back(), 0.6 * outcome.losses.front());
  EXPECT_EQ(outcome.peak_bytes, outcome.planned_bytes);
  Outcome const in_backward =
      train(graph, {.batch = 16, .optimizer = Optimizer::Adafactor, .step_in_backward = true}, 40, {.rate = 5e-3f});
  EXPECT_TRUE(same_parameters(outcome, in_backward));
}

// Sixteen bits all the way: the sum of the losses is infinite, where the same training with sums in float has a loss.
TEST(NaiveFp16, OverflowsWhereCareDoesNot) {
  // 16384 rows, each of a loss of about log 64: their sum is above 65504.
  Graph const graph = graph_of("data text 64 classes=64\na embed width=8\nb linear out=64\nloss cross-entropy\n");
  Choices const careful{.batch = 256, .type = Type::F16};
  Choices naive = careful;
  naive.naive_sums = true;
  EXPECT_NEAR(train(graph, careful, 1).losses[0], std::log(64.0), 0.2);
  EXPECT_TRUE(std::isinf(train(graph, naive, 1).losses[0]));
  // Gradients of a mean over so many are among the smallest numbers of fp16, unless the loss is scaled.
  Outcome const exact = train(graph, {.batch = 256}, 1);
  auto const error = [&](float scale) {
    Outcome outcome = train(graph, careful, 1, {.rate = 0.05f, .loss_scale = scale});
    for (auto& gradient : outcome.gradients)
      for (float& g : gradient) g /= scale;
    return gradients_apart(exact, outcome);
  };
  EXPECT_GT(error(1), 2 * error(1024));
}

}  // namespace
}  // namespace tidemark::trainer
