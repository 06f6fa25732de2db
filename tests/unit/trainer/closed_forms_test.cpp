// SPDX-License-Identifier: Apache-2.0
// Cells whose bytes are literals: worked out from closed forms outside of this code, which are given above each table.
#include <gtest/gtest.h>
#include <tidemark/tidemark.h>

#include "tests/unit/trainer/fixture.h"
#include "tests/unit/trainer/reckoning.h"

namespace tidemark::trainer {
namespace {

// An mlp of L hidden layers of width H at batch b; r() rounds up to 512. h = r(4Hb), x = r(4 * 784 b), variables
// V = x + r(4b) + r(40b) + 512; g_i = r(4 weights) + r(4 biases) of layer i, the head is layer L + 1; P = sum of g_i;
// G_i = g_i + ... + g_(L+1). The backward pass of ReLU i needs V + (i + 2) h + G_(i+1), that of linear i > 1
// V + (i + 1) h + G_i, of linear 1 V + h + P. A peak is P, the states and the largest of these and of the step's V + P.
//   momentum + P, adam + 2P and in passes V + 2P at the step, adam8bit 2 r(n + 4 ceil(n / 256)) per parameter,
//   adafactor r(4 rows) + r(4 columns) per matrix and r(4n) per vector, and at the step r(4 (rows + columns + 2));
//   step in backward: only g_i instead of G_i; zero grads: P always and no G; del early: V = x, and 0 at the step;
//   bf16: h, x and logits are halves, and r(2n) per matrix more; accumulate 4: a quarter of b, and P instead of G.
struct Peak {
  int layers, width;
  const char* name;
  Choices choices;
  std::uint64_t bytes;
};
const Peak kPeaks[] = {
    {7, 512, "sgd", {.batch = 128}, 16534528},
    {7, 512, "momentum", {.batch = 128, .optimizer = Optimizer::Momentum}, 24466944},
    {7, 512, "adam", {.batch = 128, .optimizer = Optimizer::Adam}, 40069632},
    {7, 512, "adam fused", {.batch = 128, .optimizer = Optimizer::Adam, .fused = true}, 32399360},
    {7, 512, "adam8bit", {.batch = 128, .optimizer = Optimizer::Adam8bit}, 20572160},
    {7, 512, "adafactor", {.batch = 128, .optimizer = Optimizer::Adafactor}, 16582144},
    {7, 512, "step in backward", {.batch = 128, .step_in_backward = true}, 11487744},
    {7, 512, "zero grads", {.batch = 128, .zero_gradients = true}, 18631680},
    {7, 512, "del early", {.batch = 128, .delete_early = true}, 16528384},
    {7, 512, "del early, adam", {.batch = 128, .optimizer = Optimizer::Adam, .delete_early = true}, 39662080},
    {7, 512, "in place", {.batch = 128, .in_place = true}, 16534528},
    {7, 512, "bf16, momentum", {.batch = 128, .type = Type::BF16, .optimizer = Optimizer::Momentum}, 28091392},
    {7, 512, "accumulate 4", {.batch = 128, .accumulate = 4}, 16557568},
    {3, 256, "sgd", {.batch = 1024}, 9851392},
    {3, 256, "momentum", {.batch = 1024, .optimizer = Optimizer::Momentum}, 11192320},
    {3, 256, "adam", {.batch = 1024, .optimizer = Optimizer::Adam}, 12533248},
    {3, 256, "adam fused", {.batch = 1024, .optimizer = Optimizer::Adam, .fused = true}, 12533248},
    {3, 256, "adam8bit", {.batch = 1024, .optimizer = Optimizer::Adam8bit}, 10536448},
    {3, 256, "adafactor", {.batch = 1024, .optimizer = Optimizer::Adafactor}, 9865216},
    {3, 256, "step in backward", {.batch = 1024, .step_in_backward = true}, 9840640},
    {3, 256, "zero grads", {.batch = 1024, .zero_gradients = true}, 11181568},
    {3, 256, "del early", {.batch = 1024, .delete_early = true}, 9805824},
    {3, 256, "del early, adam", {.batch = 1024, .optimizer = Optimizer::Adam, .delete_early = true}, 12487680},
    {3, 256, "in place", {.batch = 1024, .in_place = true}, 9851392},
    {3, 256, "bf16, momentum", {.batch = 1024, .type = Type::BF16, .optimizer = Optimizer::Momentum}, 7613440},
    {3, 256, "accumulate 4", {.batch = 1024, .accumulate = 4}, 4807168},
    {15, 128, "sgd", {.batch = 512}, 7422976},
    {15, 128, "momentum", {.batch = 512, .optimizer = Optimizer::Momentum}, 8755200},
    {15, 128, "adam", {.batch = 512, .optimizer = Optimizer::Adam}, 10087424},
    {15, 128, "adam fused", {.batch = 512, .optimizer = Optimizer::Adam, .fused = true}, 10087424},
    {15, 128, "adam8bit", {.batch = 512, .optimizer = Optimizer::Adam8bit}, 8120320},
    {15, 128, "adafactor", {.batch = 512, .optimizer = Optimizer::Adafactor}, 7450624},
    {15, 128, "step in backward", {.batch = 512, .step_in_backward = true}, 7417344},
    {15, 128, "zero grads", {.batch = 512, .zero_gradients = true}, 8749568},
    {15, 128, "del early", {.batch = 512, .delete_early = true}, 7399936},
    {15, 128, "del early, adam", {.batch = 512, .optimizer = Optimizer::Adam, .delete_early = true}, 10064384},
    {15, 128, "in place", {.batch = 512, .in_place = true}, 7422976},
    {15, 128, "bf16, momentum", {.batch = 512, .type = Type::BF16, .optimizer = Optimizer::Momentum}, 6375936},
    {15, 128, "accumulate 4", {.batch = 512, .accumulate = 4}, 4186112},
    {2, 1024, "sgd", {.batch = 128}, 15842304},
    {2, 1024, "momentum", {.batch = 128, .optimizer = Optimizer::Momentum}, 23297536},
    {2, 1024, "adam", {.batch = 128, .optimizer = Optimizer::Adam}, 37683712},
    {2, 1024, "adam fused", {.batch = 128, .optimizer = Optimizer::Adam, .fused = true}, 30752768},
    {2, 1024, "adam8bit", {.batch = 128, .optimizer = Optimizer::Adam8bit}, 19632128},
    {2, 1024, "adafactor", {.batch = 128, .optimizer = Optimizer::Adafactor}, 15871488},
    {2, 1024, "step in backward", {.batch = 128, .step_in_backward = true}, 13634048},
    {2, 1024, "zero grads", {.batch = 128, .zero_gradients = true}, 17415168},
    {2, 1024, "del early", {.batch = 128, .delete_early = true}, 15836160},
    {2, 1024, "del early, adam", {.batch = 128, .optimizer = Optimizer::Adam, .delete_early = true}, 37276160},
    {2, 1024, "in place", {.batch = 128, .in_place = true}, 15842304},
    {2, 1024, "bf16, momentum", {.batch = 128, .type = Type::BF16, .optimizer = Optimizer::Momentum}, 26555392},
    {2, 1024, "accumulate 4", {.batch = 128, .accumulate = 4}, 15537664},
};

TEST(ClosedForms, PeaksOfChains) {
  for (const Peak& cell : kPeaks) {
    Graph const graph =
        model("mlp", "tiny", {{"layers", std::to_string(cell.layers)}, {"width", std::to_string(cell.width)}});
    Session session(graph, cell.choices, {});
    Plan const plan = plan_training(graph, session.fixed(), cell.choices);
    for (std::uint64_t step = 1; step <= 2; ++step) session.run(plan, step);
    EXPECT_EQ(session.device().account().peak_bytes, cell.bytes)
        << cell.layers << " x " << cell.width << " " << cell.name;
  }
  EXPECT_EQ(std::size(kPeaks), 52u);
}

// What a step leaves behind for its backward pass, without the loss's own. Pictures: per sample. Residual networks: all
// outputs of convolutions (read by norms) and of ReLUs, the picture, the pooled and its places in 4 bytes, the head's
// input. GPT: 4 (L (16 B T C + NH B T^2 + 4 B T) + 2 B T C + 2 B T) + 4 B T; efficient attention: NH B T instead of
// NH B T^2; selective: L 9 B T C + B T C (block input, qkv, sum, fc; the last sum).
TEST(ClosedForms, BytesKeptOfOnePicture) {
  struct Row {
    const char *model, *size;
    std::uint64_t bytes;
  };
  for (const Row& row : {Row{"resnet", "18", 21377024}, Row{"resnet", "34", 31412224}, Row{"resnet", "50", 85106688},
                         Row{"resnet", "101", 126050304}, Row{"resnet", "152", 176627712}, Row{"resnet", "20", 1519872},
                         Row{"resnet", "56", 4272384}, Row{"resnet", "110", 8401152}, Row{"vgg", "tiny", 587776},
                         Row{"unet", "tiny", 2531328}}) {
    Graph const graph = model(row.model, row.size);
    EXPECT_EQ(reckon_kept(graph, 2, Type::F32) - reckon_kept(graph, 1, Type::F32), row.bytes)
        << row.model << " " << row.size;
  }
}

std::uint64_t kept_for_backward(const Graph& graph, Choices choices) {
  choices.delete_early = true;
  Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
  std::uint64_t const live = left_behind(plan);
  // Of the loss: probabilities and targets.
  std::size_t const rows = choices.batch * graph.data.input.size[0];
  return live - rows * graph.data.classes * 4 - rows * 4;
}

TEST(ClosedForms, BytesKeptOfGpt) {
  struct Row {
    const char* size;
    std::uint64_t plain, efficient, selective;
  };
  for (const Row& row : {Row{"tiny", 9718784, 8686592, 4850688}, Row{"124m", 4857839616, 2444279808, 1371553792}}) {
    Graph const graph = model("gpt", row.size);
    Graph efficient = graph;
    use_efficient_attention(efficient);
    EXPECT_EQ(kept_for_backward(graph, {.batch = 4}), row.plain);
    EXPECT_EQ(kept_for_backward(efficient, {.batch = 4}), row.efficient);
    EXPECT_EQ(kept_for_backward(graph, {.batch = 4, .selective = true}), row.selective);
  }
}

// States, not rounded: nothing, 4P, 8P; two bytes per element and two floats per 256 of each parameter; a float per row
// and column of each matrix and per element of each vector.
TEST(ClosedForms, StatesOfOptimizers) {
  auto const states = [](const char* name, const char* size, Optimizer optimizer) {
    Graph const graph = model(name, size);
    std::uint64_t sum = 0;
    for (const Buffer& buffer : lay_out(graph, {.optimizer = optimizer}).buffers)
      sum += buffer.kind == TIDEMARK_OPTIMIZER ? buffer.size_bytes : 0;
    return sum;
  };
  EXPECT_EQ(states("gpt", "124m", Optimizer::Sgd), 0u);
  EXPECT_EQ(states("gpt", "124m", Optimizer::Momentum), 497759232u);
  EXPECT_EQ(states("gpt", "124m", Optimizer::AdamW), 995518464u);
  EXPECT_EQ(states("bert", "large", Optimizer::Adam), 2681135104u);
  EXPECT_EQ(states("resnet", "50", Optimizer::Adam), 204456256u);
  EXPECT_EQ(states("vgg", "16", Optimizer::Momentum), 553430176u);
  // 784 x 512, six of 512 x 512, 512 x 10; eight vectors.
  EXPECT_EQ(states("mlp", "tiny", Optimizer::Adafactor), 4 * (784 + 512 + 6 * 1024 + 522 + 7 * 512 + 10u));
  EXPECT_EQ(states("mlp", "tiny", Optimizer::Adafactor), 46224u);
  EXPECT_EQ(states("mlp", "tiny", Optimizer::Adam8bit), 2 * 1982986 + 8 * (1568 + 6 * 1024 + 20 + 7 * 2 + 1u));
  // Words and places, 12 layers of qkv, proj, fc and out, their biases, 25 norms of two vectors.
  EXPECT_EQ(states("gpt", "124m", Optimizer::Adafactor),
            4 * (50257 + 768 + 1024 + 768 + 12 * (3072 + 1536 + 3840 + 3840 + 2304 + 768 + 3072 + 768) + 25 * 1536u));
  EXPECT_EQ(states("gpt", "124m", Optimizer::Adafactor), 1286468u);
}

// Published counts of multiplications with additions for one picture, in thousand millions; a transformer's
// 12 C^2 per layer and token, 2 T C for scores and values, and the head's C V.
TEST(ClosedForms, OperationsOfAForwardPass) {
  auto const forward = [](const char* name, const char* size) {
    Graph const graph = model(name, size);
    Choices const choices{.batch = 1};
    return static_cast<double>(plan_training(graph, lay_out(graph, choices), choices).forward_flops) / 2e9;
  };
  EXPECT_NEAR(forward("resnet", "18"), 1.81, 0.04);
  EXPECT_NEAR(forward("resnet", "50"), 4.09, 0.15);
  EXPECT_NEAR(forward("resnet", "101"), 7.80, 0.25);
  EXPECT_NEAR(forward("resnet", "152"), 11.51, 0.35);
  EXPECT_NEAR(forward("vgg", "16"), 15.47, 0.05);
  EXPECT_NEAR(forward("gpt", "124m"), 1024 * (12 * (12 * 768 * 768 + 2 * 1024 * 768.0) + 768 * 50257.0) / 1e9, 2);
}

TEST(ClosedForms, ParametersOfAllSizes) {
  struct Row {
    const char *model, *size;
    std::size_t parameters;
  };
  // Published: VGG-16, ResNets, GPT-2 small, BERT base and large. U-Net: 9 (in out) + 2 out per convolution. LSTM and
  // GRU: 4 H (I + H + 2) and 3 H (I + H + 2) per layer, and the head.
  std::size_t count = 0;
  for (const Row& row : {Row{"mlp", "tiny", 1982986},    Row{"mlp", "large", 409214986}, Row{"vgg", "tiny", 1341226},
                         Row{"vgg", "16", 138357544},    Row{"resnet", "20", 269722},    Row{"resnet", "56", 853018},
                         Row{"resnet", "110", 1727962},  Row{"resnet", "18", 11689512},  Row{"resnet", "34", 21797672},
                         Row{"resnet", "50", 25557032},  Row{"resnet", "101", 44549160}, Row{"resnet", "152", 60192808},
                         Row{"unet", "tiny", 270897},    Row{"unet", "full", 17262977},  Row{"lstm", "tiny", 100618},
                         Row{"lstm", "large", 31500298}, Row{"gru", "tiny", 75786},      Row{"gru", "large", 23627786},
                         Row{"gpt", "tiny", 867072},     Row{"gpt", "124m", 124439808},  Row{"bert", "tiny", 487296},
                         Row{"bert", "base", 109482240}, Row{"bert", "large", 335141888}}) {
    EXPECT_EQ(model(row.model, row.size).parameter_elements(), row.parameters) << row.model << " " << row.size;
    ++count;
  }
  std::size_t sizes = 0;
  for (std::string_view const name : model_names()) sizes += sizes_of(name).size();
  EXPECT_EQ(count + 1, sizes) << "all but the tiny resnet, which nobody published";
  // Three gates instead of four.
  EXPECT_EQ((75786 - 1290) * 4, (100618 - 1290) * 3);
}

}  // namespace
}  // namespace tidemark::trainer
