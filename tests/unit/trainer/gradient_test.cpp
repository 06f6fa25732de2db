// SPDX-License-Identifier: Apache-2.0
// Every op's gradients against differences of the loss. The op stands behind a layer with parameters, so that the
// gradient of its input is seen too; the loss is a random projection, unless the loss itself is tested. The rate of
// learning is 0.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

struct Case {
  const char* name;
  const char* table;
  std::size_t samples = 3;
  std::size_t chunk = 0;
  double step = 2e-3;         // smaller where the function has kinks, which a step must not reach
  bool efficient = false;     // attention
  std::size_t loss_rows = 0;  // --ce-chunk
};

const Case kCases[] = {
    {"linear", "data pictures 1 3 4 classes=3\na linear out=5\nb linear out=4\nloss projection\n"},
    {"linear_in_chunks", "data pictures 1 3 4 classes=3\na linear out=5\nb linear out=4\nloss projection\n", 6, 2},
    {"linear_of_moments", "data series 4 3 classes=3\na linear out=5\nb linear out=4\nloss projection\n"},
    {"gelu", "data pictures 1 3 4 classes=3\na linear out=5\nb gelu\nloss projection\n"},
    {"sigmoid", "data pictures 1 3 4 classes=3\na linear out=5\nb sigmoid\nloss projection\n"},
    {"tanh", "data pictures 1 3 4 classes=3\na linear out=5\nb tanh\nloss projection\n"},
    {"relu", "data pictures 1 3 4 classes=3\na linear out=5\nb relu\nloss projection\n"},
    {"dropout", "data pictures 1 3 4 classes=3\na linear out=50\nb dropout rate=0.4\nloss projection\n"},
    {"add",
     "data pictures 1 3 4 classes=3\na linear out=5\nb linear out=5\nc add <- a b\nd linear out=2\nloss projection\n"},
    {"read_three_times",
     "data pictures 1 3 4 classes=3\na linear out=5\nb tanh\nc add <- a b\nd add <- c a\ne linear out=5\nf add <- e a\n"
     "loss projection\n"},
    {"cross_entropy", "data pictures 1 3 4 classes=3\na linear out=3\nloss cross-entropy\n", 5},
    {"conv_3x3",
     "data pictures 2 6 5 classes=3\na conv out=3 size=3 pad=1\nb conv out=2 size=3 pad=1\nloss projection\n"},
    {"conv_strided",
     "data pictures 2 7 6 classes=3\na conv out=3 size=3 pad=1\nb conv out=2 size=3 pad=1 stride=2\nloss projection\n"},
    {"conv_large_window",
     "data pictures 2 9 8 classes=3\na conv out=3 size=1\nb conv out=2 size=5 pad=3 stride=3 bias=0\nloss "
     "projection\n"},
    {"conv_1x1", "data pictures 2 6 5 classes=3\na conv out=3 size=1\nb conv out=4 size=1\nloss projection\n"},
    {"conv_1x1_strided", "data pictures 2 6 5 classes=3\na conv out=3\nb conv out=4 stride=2\nloss projection\n"},
    {"conv_in_chunks",
     "data pictures 2 6 5 classes=3\na conv out=3 size=3 pad=1\nb conv out=2 size=3 pad=1\nloss projection\n", 4, 2},
    {"batch_norm", "data pictures 2 6 5 classes=3\na conv out=3 size=3\nb batchnorm\nc tanh\nloss projection\n"},
    {"batch_norm_of_vectors", "data pictures 1 3 4 classes=3\na linear out=5\nb batchnorm\nc tanh\nloss projection\n",
     6},
    {"group_norm",
     "data pictures 2 6 5 classes=3\na conv out=4 size=3\nb groupnorm groups=2\nc tanh\nloss projection\n"},
    {"layer_norm", "data series 4 3 classes=3\na linear out=6\nb layernorm\nc tanh\nloss projection\n"},
    {"max_pool", "data pictures 2 6 6 classes=3\na conv out=3 size=3 pad=1\nb maxpool\nloss projection\n", 3, 0, 1e-4},
    {"max_pool_overlapping",
     "data pictures 2 7 7 classes=3\na conv out=3 size=3 pad=1\nb maxpool size=3 stride=2 pad=1\nloss projection\n", 3,
     0, 1e-4},
    {"mean_pool", "data pictures 2 6 5 classes=3\na conv out=3 size=3\nb gap\nc linear out=2\nloss projection\n"},
    {"upsample", "data pictures 2 4 3 classes=3\na conv out=3 size=3 pad=1\nb upsample\nloss projection\n"},
    {"concat",
     "data pictures 2 4 3 classes=3\na conv out=3 size=3 pad=1\nb conv out=2\nc concat <- a b\nd conv out=2\nloss "
     "projection\n"},
    {"shortcut",
     "data pictures 2 6 5 classes=3\na conv out=3 size=3 pad=1\nb shortcut out=7 stride=2\nloss projection\n"},
    {"mask_loss", "data disks 2 8 8\na conv out=1 size=3 pad=1\nloss mask-loss\n"},
    {"embed", "data text 5 classes=7\na embed width=6\nb linear out=3\nc tanh\nloss projection\n"},
    {"attention", "data series 5 6 classes=3\na linear out=24\nb attention heads=2\nc linear out=3\nloss projection\n"},
    {"attention_causal",
     "data series 5 6 classes=3\na linear out=24\nb attention heads=4 causal=1\nc linear out=3\nloss projection\n"},
    {"attention_with_dropout",
     "data series 9 6 classes=3\na linear out=24\nb attention heads=2 rate=0.3\nc linear out=3\nloss projection\n"},
    {"attention_efficient_with_dropout",
     "data series 70 6 classes=3\na linear out=24\nb attention heads=2 rate=0.3\nc linear out=3\nloss projection\n", 2,
     0, 2e-3, true},
    {"attention_efficient",
     "data series 5 6 classes=3\na linear out=24\nb attention heads=2\nc linear out=3\nloss projection\n", 3, 0, 2e-3,
     true},
    {"attention_efficient_tiles",
     "data series 70 6 classes=3\na linear out=24\nb attention heads=2\nc linear out=3\nloss projection\n", 2, 0, 2e-3,
     true},
    {"attention_efficient_causal_tiles",
     "data series 70 6 classes=3\na linear out=24\nb attention heads=4 causal=1\nc linear out=3\nloss projection\n", 2,
     0, 2e-3, true},
    {"chunked_cross_entropy",
     "data pictures 1 3 4 classes=3\na linear out=5\nb tanh\nc linear out=3\nloss cross-entropy\n", 5, 0, 2e-3, false,
     2},
    {"chunked_cross_entropy_of_moments",
     "data text 5 classes=7\na embed width=6\nb linear out=7 bias=0\nloss cross-entropy\n", 4, 2, 2e-3, false, 3},
    {"lstm", "data series 5 4 classes=3\na linear out=3\nb lstm out=6\nc linear out=2\nloss projection\n"},
    {"lstm_in_chunks", "data series 5 4 classes=3\na linear out=3\nb lstm out=6\nloss projection\n", 4, 2},
    {"gru", "data series 5 4 classes=3\na linear out=3\nb gru out=6\nc linear out=2\nloss projection\n"},
    {"gru_in_chunks", "data series 5 4 classes=3\na linear out=3\nb gru out=6\nloss projection\n", 4, 2},
    {"last", "data series 5 4 classes=3\na linear out=3\nb last\nc linear out=2\nloss projection\n"},
    {"tied", "data text 5 classes=7\na embed width=6\nb tanh\nc linear out=7 tie=a bias=0\nloss cross-entropy\n"},
};

class Gradient : public testing::TestWithParam<Case> {};

// g d against (L(w + e d) - L(w - e d)) / 2e, for directions d with entries of 1 and -1: no element is left out.
TEST_P(Gradient, AgreesWithDifferencesOfTheLoss) {
  Graph graph = graph_of(GetParam().table);
  if (GetParam().efficient) use_efficient_attention(graph);
  if (GetParam().loss_rows > 0) {
    ASSERT_TRUE(fuse_cross_entropy(graph, GetParam().loss_rows).ok());
  }
  Choices const choices{.batch = GetParam().samples, .chunk = GetParam().chunk};
  Session session(graph, choices, {.seed = 5, .rate = 0});
  Plan const plan = plan_training(graph, session.fixed(), choices);
  std::vector<std::vector<float>> gradients(graph.parameters.size());
  session.watch([&](ParameterId p, const float* gradient, std::size_t n) {
    session.device().synchronize();
    gradients[p] = to_host(gradient, n);
  });
  session.run(plan, 1);
  session.watch({});
  std::mt19937 random(1);
  for (ParameterId p = 0; p < graph.parameters.size(); ++p) {
    std::size_t const n = graph.parameters[p].elements;
    void* const address = session.address(session.fixed().parameters[p].value);
    std::vector<float> const before = to_host(address, n);
    for (int round = 0; round < 4; ++round) {
      std::vector<float> direction(n);
      for (float& d : direction) d = random() % 2 ? 1.0f : -1.0f;
      double const e = GetParam().step;
      auto const loss_at = [&](double step) {
        std::vector<float> moved(n);
        for (std::size_t i = 0; i < n; ++i) moved[i] = static_cast<float>(before[i] + step * direction[i]);
        TRAINER_CHECK(cudaMemcpy(address, moved.data(), n * 4, cudaMemcpyHostToDevice));
        return session.run(plan, 1).loss;
      };
      double const difference = (loss_at(e) - loss_at(-e)) / (2 * e);
      double slope = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        slope += static_cast<double>(gradients[p][i]) * direction[i];
        size += static_cast<double>(gradients[p][i]) * gradients[p][i];
      }
      EXPECT_NEAR(slope, difference, 2e-2 * std::sqrt(size) + 2e-3)
          << graph.parameters[p].layer << "." << graph.parameters[p].name << ", " << n << " elements";
    }
    TRAINER_CHECK(cudaMemcpy(address, before.data(), n * 4, cudaMemcpyHostToDevice));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace tidemark::trainer
