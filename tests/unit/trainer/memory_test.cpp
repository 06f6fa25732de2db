// SPDX-License-Identifier: Apache-2.0
// Memory by formula, in dry runs: what the plan says, what the device saw, what closed forms and a reckoning that knows
// nothing of plans expect, to the byte.
#include <gtest/gtest.h>

#include <cmath>

#include "samples/trainer/choose.h"
#include "tests/unit/trainer/fixture.h"
#include "tests/unit/trainer/reckoning.h"

namespace tidemark::trainer {
namespace {

struct Cell {
  std::string name;
  Choices choices;
  bool efficient = false;     // attention
  std::size_t loss_rows = 0;  // --ce-chunk
};

// Each trick alone, and some together, over the optimizers.
std::vector<Cell> cells(const Graph& graph, std::size_t batch) {
  std::vector<Cell> cells;
  auto const add = [&](std::string name, Choices choices, bool efficient = false, std::size_t loss_rows = 0) {
    choices.batch = batch;
    cells.push_back({std::move(name), choices, efficient, loss_rows});
  };
  add("sgd", {});
  add("momentum", {.optimizer = Optimizer::Momentum});
  add("adam", {.optimizer = Optimizer::Adam});
  add("adam fused", {.optimizer = Optimizer::Adam, .fused = true});
  add("adam8bit", {.optimizer = Optimizer::Adam8bit});
  add("in place", {.in_place = true});
  add("del early", {.delete_early = true});
  add("zero grads", {.optimizer = Optimizer::Momentum, .zero_gradients = true});
  add("step in backward", {.optimizer = Optimizer::Momentum, .step_in_backward = true});
  add("step in backward, adam", {.optimizer = Optimizer::Adam, .step_in_backward = true});
  add("checkpoint", {.checkpoint = Checkpoint::Sqrt});
  add("checkpoint, adam fused", {.optimizer = Optimizer::Adam, .fused = true, .checkpoint = Checkpoint::Sqrt});
  add("checkpoint, del early, step in backward",
      {.checkpoint = Checkpoint::Sqrt, .delete_early = true, .step_in_backward = true});
  add("accumulate 4", {.accumulate = 4});
  add("accumulate 2, checkpoint, adam",
      {.accumulate = 2, .optimizer = Optimizer::Adam, .checkpoint = Checkpoint::Sqrt});
  add("accumulate 2, in place, zero grads", {.accumulate = 2, .in_place = true, .zero_gradients = true});
  add("offload", {.offload = true});
  add("offload, in place, del early, accumulate 2",
      {.accumulate = 2, .in_place = true, .delete_early = true, .offload = true});
  add("bf16", {.type = Type::BF16, .optimizer = Optimizer::Adam});
  add("fp16", {.type = Type::F16, .check_finite = true});
  add("fp16, checkpoint", {.type = Type::F16, .checkpoint = Checkpoint::Sqrt, .check_finite = true});
  add("adafactor", {.optimizer = Optimizer::Adafactor});
  add("adafactor, step in backward", {.optimizer = Optimizer::Adafactor, .step_in_backward = true});
  add("selective", {.selective = true});
  add("selective, del early, accumulate 2, adam fused",
      {.accumulate = 2, .optimizer = Optimizer::Adam, .fused = true, .selective = true, .delete_early = true});
  add("selective, checkpoint", {.checkpoint = Checkpoint::Sqrt, .selective = true});
  add("selective, bf16, step in backward", {.type = Type::BF16, .selective = true, .step_in_backward = true});
  add("optimal", {.checkpoint = Checkpoint::Optimal, .delete_early = true, .step_in_backward = true});
  bool attends = false;
  for (const Node& node : graph.nodes) attends |= node.op == Op::Attention;
  if (attends) {
    add("efficient attention", {}, true);
    add("efficient attention, bf16, adam", {.type = Type::BF16, .optimizer = Optimizer::Adam}, true);
    add("efficient attention, checkpoint, selective", {.checkpoint = Checkpoint::Sqrt, .selective = true}, true);
  }
  if (graph.nodes.back().op != Op::CrossEntropy) return cells;
  add("chunked loss", {}, false, 3);
  add("chunked loss, fp16, checkpoint", {.type = Type::F16, .checkpoint = Checkpoint::Sqrt, .check_finite = true},
      false, 1);
  add("chunked loss, accumulate 2, momentum, del early",
      {.accumulate = 2, .optimizer = Optimizer::Momentum, .delete_early = true}, attends, 1000);
  return cells;
}

struct Row {
  const char *model, *size;
  std::size_t batch;
  Variables changes = {};
};
const Row kRows[] = {
    {"mlp", "tiny", 128},
    {"mlp", "large", 64},
    {"vgg", "tiny", 32},
    {"vgg", "16", 16},
    {"vgg", "tiny", 32, {{"head", "gap"}}},
    {"vgg", "16", 8, {{"pool", "early"}}},
    {"resnet", "tiny", 32},
    {"resnet", "20", 32},
    {"resnet", "110", 8},
    {"resnet", "18", 16},
    {"resnet", "50", 16},
    {"resnet", "152", 16},
    {"resnet", "50", 16, {{"norm", "gn"}}},
    {"unet", "tiny", 8},
    {"unet", "full", 4},
    {"lstm", "tiny", 16},
    {"lstm", "large", 16},
    {"gru", "tiny", 16},
    {"gru", "large", 16},
    {"gpt", "tiny", 4},
    {"gpt", "124m", 4},
    {"gpt", "tiny", 4, {{"dropout", "0.1"}}},
    {"bert", "tiny", 8},
    {"bert", "base", 8},
    {"mlp", "tiny", 4},
    {"unet", "tiny", 4, {{"norm", "gn"}}},
};

TEST(Memory, PlanDeviceAndReckoningAgreeToTheByte) {
  std::size_t count = 0;
  for (const Row& row : kRows) {
    Graph const plain = model(row.model, row.size, row.changes);
    for (const Cell& cell : cells(plain, row.batch)) {
      std::string const where = std::string(row.model) + " " + row.size + ", " + cell.name;
      Graph graph = plain;
      if (cell.efficient) use_efficient_attention(graph);
      if (cell.loss_rows > 0) {
        ASSERT_TRUE(fuse_cross_entropy(graph, cell.loss_rows).ok());
      }
      bool const ordered = cell.choices.selective || cell.choices.checkpoint >= Checkpoint::Optimal;
      Session session(graph, cell.choices, {});
      Schedule const schedule = choose_schedule(graph, session.fixed(), cell.choices).value();
      Plan const plan = plan_training(graph, session.fixed(), cell.choices, schedule);
      for (std::uint64_t step = 1; step <= 2; ++step) session.run(plan, step);
      std::uint64_t const planned = peak_live_bytes(plan);
      EXPECT_EQ(session.device().account().peak_bytes, planned) << where;
      EXPECT_EQ(reckon_peak(graph, cell.choices, ordered ? &schedule : nullptr), planned) << where;
      ++count;
    }
  }
  EXPECT_GE(count, 700u);
}

// ---- closed forms
// ----------------------------------------------------------------------------------------------------

// What stays for the backward pass, per sample unless it says otherwise. The recurrent ones and GPT: of the whole
// batch.
TEST(Memory, KeptBytesFollowTheClosedForms) {
  auto const kept = [](const char* name, const char* size, std::size_t samples) {
    return reckon_kept(model(name, size), samples, Type::F32);
  };
  auto const per_sample = [&](const char* name, const char* size) { return kept(name, size, 2) - kept(name, size, 1); };
  EXPECT_EQ(kept("mlp", "tiny", 128), 128 * 4 * (784 + 7 * 512u));
  EXPECT_EQ(kept("mlp", "tiny", 128), 2236416u);
  // convolutions 585 728, and the hidden layer of the head
  EXPECT_EQ(per_sample("vgg", "tiny"), 585728u + 512 * 4);
  // 6n + 2 layers, and the head's input of 64
  EXPECT_EQ(per_sample("resnet", "20"), 1519616u + 64 * 4);
  EXPECT_EQ(per_sample("resnet", "56"), 4272128u + 64 * 4);
  EXPECT_EQ(per_sample("resnet", "110"), 8400896u + 64 * 4);
  // 2 592 768 with 8 bytes per place of a maximum; here 4
  EXPECT_EQ(per_sample("unet", "tiny"), 2592768u - 4 * (8 * 1024 + 16 * 256 + 32 * 64 + 64 * 16u));
  // 4 B T (I + 6 H), 4 B T (I + 5 H), and the head's input
  EXPECT_EQ(kept("lstm", "tiny", 16), 4 * 16 * 32 * (64 + 6 * 128u) + 16 * 128 * 4);
  EXPECT_EQ(kept("gru", "tiny", 16), 4 * 16 * 32 * (64 + 5 * 128u) + 16 * 128 * 4);
  // per block 16 B T C + NH B T^2 + 4 B T; the last norm's 2 B T C + 2 B T; tokens
  EXPECT_EQ(
      kept("gpt", "tiny", 4),
      4 * (4 * (16 * 4 * 64 * 128 + 4 * 4 * 64 * 64 + 4 * 4 * 64u) + 2 * 4 * 64 * 128 + 2 * 4 * 64u) + 4 * 64 * 4);
  EXPECT_EQ(kept("gpt", "tiny", 4), 9717760u + 1024);
}

// The plan leaves exactly that behind: between the passes, with the variables gone early, nothing else is there.
TEST(Memory, BetweenThePassesOnlyTheKeptIsLive) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size, row.changes);
    Choices const choices{.batch = row.batch, .delete_early = true};
    Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
    std::uint64_t const live = left_behind(plan);
    const Value &output = graph.values[graph.output], &targets = graph.values[graph.targets];
    std::uint64_t const loss = output.bytes(row.batch, Type::F32) + targets.bytes(row.batch, Type::F32) +
                               (graph.data.kind == Data::Disks ? 8 * row.batch : 0);
    EXPECT_EQ(live, reckon_kept(graph, row.batch, Type::F32) + loss) << row.model << " " << row.size;
  }
}

// Peaks of a chain that can be written down by hand: an mlp of L layers of width H, batch b, everything a multiple of
// 512.
TEST(Memory, PeakOfAChainByHand) {
  std::uint64_t const b = 128, h = 512 * 4 * b, x = 784 * 4 * b, p_in = 784 * 512 * 4, p = 512 * 512 * 4, bias = 2048,
                      head = 10 * 512 * 4, head_bias = 512, logits = 10 * 4 * b, small = 512;
  Graph const graph = model("mlp");
  auto const peak = [&](Choices choices) {
    choices.batch = b;
    return peak_live_bytes(plan_training(graph, lay_out(graph, choices), choices));
  };
  std::uint64_t const parameters = p_in + 6 * p + 7 * bias + head + head_bias;
  // variables: input, targets, output, loss
  std::uint64_t const variables = x + small + logits + small;
  // SGD: the peak is the optimizer's, or the second layer's backward: gradients of all but the first layer, two
  // gradients of activations, and one activation.
  std::uint64_t const second_layer = variables + h + 2 * h + parameters - p_in - bias;
  std::uint64_t const first_layer = variables + h + parameters;
  EXPECT_EQ(peak({}), parameters + std::max(second_layer, first_layer));
  EXPECT_EQ(peak({.optimizer = Optimizer::Momentum}), 2 * parameters + std::max(second_layer, first_layer));
  // Adam in passes: parameters, two states, gradients, divisors. Fused: without the divisors, and then backward is
  // more.
  EXPECT_EQ(peak({.optimizer = Optimizer::Adam}), 5 * parameters + variables);
  EXPECT_EQ(peak({.optimizer = Optimizer::Adam, .fused = true}), 3 * parameters + std::max(second_layer, first_layer));
  // With the step in backward no more than a layer's gradient is there: the peak moves to the last hidden layer, where
  // all activations are: seven, of which the last has been read for the last time, and two gradients.
  EXPECT_EQ(peak({.step_in_backward = true}), parameters + variables + 6 * h + 2 * h + p + bias);
}

// N equal layers in sqrt(N) segments.
TEST(Memory, CheckpointsAreKeptPerSegment) {
  Variables const changes{{"layers", "15"}, {"width", "128"}};
  Graph const graph = model("mlp", "tiny", changes);
  ASSERT_EQ(graph.units, 17u);  // 15 blocks, the head, the loss
  Choices const choices{.batch = 128, .checkpoint = Checkpoint::Sqrt, .delete_early = true};
  Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
  // 17 rows in 4 segments of 5: inputs of three of them, then the last one whole: blocks 15 and the head, the loss.
  std::uint64_t const live = left_behind(plan);
  std::uint64_t const h = 128 * 128 * 4, x = 784 * 4 * 128, logits = 10 * 4 * 128, targets = 512;
  EXPECT_EQ(live, x + 2 * h + h + logits + targets);
  EXPECT_EQ(plan.recomputed, 2 * 15u);
}

// Pooling early leaves a quarter of the pixels to every convolution of a stage but the first, and the parameters alone.
TEST(Memory, PoolingEarlyKeepsLessForTheSameParameters) {
  Graph const late = model("vgg", "16"), early = model("vgg", "16", {{"pool", "early"}});
  EXPECT_EQ(late.parameter_elements(), early.parameter_elements());
  // Of each stage all convolutions but the first have three quarters less: channels * pixels * 4 bytes * 3/4 each.
  std::uint64_t const saved =
      3 * (64 * 224 * 224 + 128 * 112 * 112 + 2 * 256 * 56 * 56 + 2 * 512 * 28 * 28 + 2 * 512 * 14 * 14u);
  EXPECT_EQ(reckon_kept(late, 1, Type::F32) - reckon_kept(early, 1, Type::F32), saved);
}

// What is offloaded is freed when it has left and allocated when it comes back: no buffer is ever there twice, none is
// read while it is away, and none is left behind.
TEST(Memory, AnOffloadedBufferIsInOnePlaceAtATime) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size, row.changes);
    Choices const choices{.batch = row.batch, .offload = true};
    Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
    std::vector<bool> on_device(plan.buffers.size()), on_host(plan.buffers.size());
    std::size_t moved = 0;
    for (const Instruction& i : plan.instructions) {
      if (i.what == Do::Allocate) {
        ASSERT_FALSE(on_device[i.buffer]);
        on_device[i.buffer] = true;
      }
      if (i.what == Do::Offload) {
        ASSERT_TRUE(on_device[i.buffer]);
        on_host[i.buffer] = true;
        ++moved;
      }
      if (i.what == Do::Fetch) {
        ASSERT_TRUE(on_device[i.buffer] && on_host[i.buffer]);
        on_host[i.buffer] = false;
      }
      if (i.what == Do::Free || i.what == Do::Offload) {
        ASSERT_TRUE(on_device[i.buffer]);
        on_device[i.buffer] = false;
      }
      if (i.what != Do::Forward && i.what != Do::Backward) continue;
      const Binding& binding = plan.bindings[i.index];
      for (BufferId const id : {binding.in[0], binding.in[1], binding.out, binding.extra[0], binding.extra[1]})
        ASSERT_TRUE(id == kNoBuffer || on_device[id]) << row.model << " " << row.size;
    }
    for (BufferId id = 0; id < on_host.size(); ++id) EXPECT_FALSE(on_host[id]) << row.model << " " << row.size;
    // Of the mlp with 4 samples no buffer is large enough.
    EXPECT_TRUE(moved > 0 || row.batch == 4) << row.model << " " << row.size;
  }
}

// A dry run of the largest network: nothing of it is on the host.
TEST(Memory, ALargeNetworkNeedsNoHostMemory) {
  Graph const graph = model("resnet", "152");
  Choices const choices{.batch = 64};
  Session session(graph, choices, {});
  Plan const plan = plan_training(graph, session.fixed(), choices);
  session.run(plan, 1);
  EXPECT_GT(session.device().account().peak_bytes, std::uint64_t{10} << 30);
  EXPECT_LT(plan.instructions.size(), 20000u);
}

}  // namespace
}  // namespace tidemark::trainer
