// SPDX-License-Identifier: Apache-2.0
// A batch in parts: the loss curves of 4 x 4 against 16, to the bit where the order of sums is pinned; and what batch
// norm makes of it, as numbers.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

constexpr std::size_t kBatch = 16;
constexpr int kSteps = 8;

Graph small_resnet(const char* norm) {
  return model("resnet", "tiny", {{"height", "8"}, {"width", "8"}, {"channels", "4"}, {"groups", "2"}, {"norm", norm}});
}

// Without a pinned order the sums differ in their last bits.
TEST(Accumulation, FourTimesFourIsSixteen) {
  for (const char* const name : {"mlp", "unet", "gpt", "lstm"}) {
    Variables const changes =
        std::string_view(name) == "mlp" ? Variables{{"width", "16"}, {"layers", "2"}}
        : std::string_view(name) == "unet"
            ? Variables{{"height", "16"}, {"width", "16"}, {"channels", "4"}, {"groups", "2"}, {"norm", "gn"}}
        : std::string_view(name) == "gpt"
            ? Variables{{"seq", "6"}, {"width", "16"}, {"heads", "2"}, {"words", "11"}, {"layers", "1"}}
            : Variables{{"seq", "5"}, {"features", "6"}, {"width", "8"}};
    Graph const graph = model(name, "tiny", changes);
    for (std::size_t const chunk : {0, 4}) {
      Outcome const whole = train(graph, {.batch = kBatch, .chunk = chunk}, kSteps);
      Outcome const parts = train(graph, {.batch = kBatch, .accumulate = 4, .chunk = chunk}, kSteps);
      for (int s = 0; s < kSteps; ++s)
        EXPECT_NEAR(parts.losses[static_cast<std::size_t>(s)], whole.losses[static_cast<std::size_t>(s)], 2e-5)
            << name << " step " << s;
      EXPECT_EQ(same_bits(whole.gradients, parts.gradients), chunk != 0) << name << " " << chunk;
      EXPECT_LT(difference(whole.gradients, parts.gradients), 2e-5) << name;
      EXPECT_LT(parts.peak_bytes, whole.peak_bytes) << name;
    }
  }
}

// Group norm looks at one sample: parts give the whole's bits. Batch norm looks at the part: gradients are other ones,
// by a share that grows with the number of parts, and running statistics are moved once per part.
TEST(Accumulation, BatchNormIsAnotherModel) {
  Graph const gn = small_resnet("gn"), bn = small_resnet("bn");
  Choices const whole{.batch = kBatch, .chunk = 1};
  Outcome const gn_whole = train(gn, whole, 2), bn_whole = train(bn, whole, 1);
  double before = 0;
  for (std::size_t const parts : {2, 4, 8}) {
    Choices in_parts = whole;
    in_parts.accumulate = parts;
    Outcome const exact = train(gn, in_parts, 2), other = train(bn, in_parts, 1);
    EXPECT_TRUE(same_bits(gn_whole.gradients, exact.gradients)) << parts;
    EXPECT_TRUE(same_bits(gn_whole.parameters, exact.parameters)) << parts;
    double const gradients = difference(bn_whole.gradients, other.gradients);
    double const statistics = difference(bn_whole.statistics, other.statistics);
    RecordProperty("gradients_" + std::to_string(parts), std::to_string(gradients));
    RecordProperty("statistics_" + std::to_string(parts), std::to_string(statistics));
    std::printf("batch norm, 16 in %zu parts: gradients off by %.3f, running statistics by %.3f\n", parts, gradients,
                statistics);
    EXPECT_GT(gradients, 0.05) << parts;
    EXPECT_GT(gradients, before) << parts;
    EXPECT_GT(statistics, 0.01) << parts;
    before = gradients;
  }
}

}  // namespace
}  // namespace tidemark::trainer
