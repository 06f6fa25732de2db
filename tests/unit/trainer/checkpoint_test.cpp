// SPDX-License-Identifier: Apache-2.0
// Chosen schedules on the models: never above their budget by the plan's own account, never worse than sqrt(N), and a
// minimum that is named. Every schedule is a sound one: each node backwards once, after its forward pass, in order.
#include <gtest/gtest.h>

#include <set>

#include "samples/trainer/chain.h"
#include "samples/trainer/choose.h"
#include "tests/unit/trainer/fixture.h"
#include "tests/unit/trainer/reckoning.h"

namespace tidemark::trainer {
namespace {

struct Row {
  const char *model, *size;
  std::size_t batch;
};
const Row kRows[] = {{"mlp", "tiny", 4096}, {"vgg", "16", 16},   {"resnet", "20", 128}, {"resnet", "50", 16},
                     {"resnet", "152", 16}, {"unet", "full", 4}, {"lstm", "large", 64}, {"gru", "large", 16},
                     {"gpt", "tiny", 16},   {"gpt", "124m", 8},  {"bert", "base", 8}};

struct Weighed {
  std::uint64_t peak = 0, recomputed = 0, reckoned = 0;
};
Weighed weigh(const Graph& graph, const Choices& choices) {
  Fixed const fixed = lay_out(graph, choices);
  Schedule const schedule = choose_schedule(graph, fixed, choices).value();
  Plan const plan = plan_training(graph, fixed, choices, schedule);
  return {.peak = peak_live_bytes(plan),
          .recomputed = plan.recomputed_flops,
          .reckoned = reckon_peak(graph, choices, &schedule)};
}
Choices with(const Row& row, Checkpoint checkpoint) {
  return {.batch = row.batch, .checkpoint = checkpoint, .delete_early = true};
}

TEST(Checkpoint, OptimalIsNeverWorseThanSegments) {
  std::size_t better = 0;
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size);
    for (bool const selective : {false, true}) {
      Choices sqrt = with(row, Checkpoint::Sqrt), optimal = with(row, Checkpoint::Optimal);
      sqrt.selective = optimal.selective = selective;
      Weighed const a = weigh(graph, sqrt), b = weigh(graph, optimal);
      EXPECT_LE(b.peak, a.peak) << row.model << " " << row.size;
      EXPECT_LE(b.recomputed, a.recomputed) << row.model << " " << row.size;
      EXPECT_EQ(b.peak, b.reckoned) << row.model << " " << row.size;
      better += b.peak < a.peak || b.recomputed < a.recomputed;
    }
  }
  EXPECT_GE(better, 16u) << "of 22";
}

// With another way to keep a stage there is never less to choose from.
TEST(Checkpoint, SelectiveTapingsOnlyAddToTheChoice) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size);
    Choices plain = with(row, Checkpoint::Optimal), more = plain;
    more.selective = true;
    EXPECT_LE(weigh(graph, more).peak, weigh(graph, plain).peak) << row.model << " " << row.size;
  }
}

// Budgets from what a plain step takes down to the least: kept to the byte, for less work the more there is.
TEST(Checkpoint, ABudgetIsNeverExceeded) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size);
    Choices choices = with(row, Checkpoint::Budget);
    std::uint64_t const plain = weigh(graph, with(row, Checkpoint::None)).peak;
    choices.budget_bytes = 1;
    auto const refused = choose_schedule(graph, lay_out(graph, choices), choices);
    ASSERT_FALSE(refused);
    std::string const words = refused.error().hint;
    ASSERT_TRUE(words.starts_with("budget:")) << words;
    std::uint64_t const least = std::stoull(words.substr(7));
    ASSERT_LT(least, plain) << row.model << " " << row.size;
    std::uint64_t recomputed = 0;
    for (int tenth = 10; tenth >= 0; --tenth) {
      choices.budget_bytes = least + (plain - least) / 10 * static_cast<std::uint64_t>(tenth) + (tenth == 10 ? 9 : 0);
      Weighed const got = weigh(graph, choices);
      EXPECT_LE(got.peak, choices.budget_bytes) << row.model << " " << row.size << " " << tenth;
      EXPECT_EQ(got.peak, got.reckoned) << row.model << " " << row.size << " " << tenth;
      EXPECT_GE(got.recomputed, recomputed) << row.model << " " << row.size << " " << tenth;
      EXPECT_TRUE(tenth < 10 || got.recomputed == 0) << row.model << " " << row.size;
      recomputed = got.recomputed;
    }
    choices.budget_bytes = least - 1;
    EXPECT_FALSE(choose_schedule(graph, lay_out(graph, choices), choices)) << row.model << " " << row.size;
  }
}

TEST(Checkpoint, TheMinimumIsNamed) {
  Graph const graph = model("mlp");
  Choices const choices{.batch = 128, .checkpoint = Checkpoint::Budget, .budget_bytes = 1 << 20};
  auto const refused = choose_schedule(graph, lay_out(graph, choices), choices);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::LimitExceeded);
  EXPECT_TRUE(refused.error().what.starts_with("--checkpoint budget:1048576 is less than this training can do with: "))
      << refused.error().what;
}

// Everything that a schedule must be, whatever chose it.
void expect_sound(const Graph& graph, const Schedule& schedule) {
  std::vector<int> forwards(graph.nodes.size()), backwards(graph.nodes.size());
  std::size_t next_backward = graph.nodes.size();
  for (const Pass& pass : schedule) {
    if (pass.way == Pass::Way::Forward) {
      ++forwards[pass.node];
      continue;
    }
    EXPECT_EQ(pass.node, --next_backward);
    EXPECT_GE(forwards[pass.node], 1);
    ++backwards[pass.node];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) EXPECT_EQ(backwards[n], 1) << graph.nodes[n].layer;
  EXPECT_EQ(forwards.back(), 1) << "the loss is computed once";
}
TEST(Checkpoint, SchedulesAreSound) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size);
    for (Checkpoint const checkpoint : {Checkpoint::None, Checkpoint::Sqrt, Checkpoint::Optimal})
      for (bool const selective : {false, true}) {
        Choices choices = with(row, checkpoint);
        choices.selective = selective;
        expect_sound(graph, choose_schedule(graph, lay_out(graph, choices), choices).value());
      }
  }
}

TEST(Stages, CoverTheNodesInOrder) {
  for (const Row& row : kRows) {
    Graph const graph = model(row.model, row.size);
    for (std::size_t const most : {std::size_t{1}, std::size_t{7}, kMaxStages}) {
      std::vector<NodeRange> const stages = stages_of(graph, most);
      EXPECT_LE(stages.size(), most);
      EXPECT_EQ(stages.front().first, 0u);
      EXPECT_EQ(stages.back().last, graph.nodes.size());
      for (std::size_t s = 1; s < stages.size(); ++s) EXPECT_EQ(stages[s].first, stages[s - 1].last);
    }
  }
}

// What a cheap op makes can be had again from what is kept; a residual sum cannot, without the one before it.
TEST(Selective, KnowsWhatIsCheap) {
  auto const cheap_layers = [](const Graph& graph) {
    std::vector<bool> const cheap = cheap_nodes(graph);
    std::set<std::string> names;
    for (std::size_t n = 0; n < cheap.size(); ++n)
      if (cheap[n]) names.insert(graph.nodes[n].layer);
    return names;
  };
  std::set<std::string> const resnet = cheap_layers(model("resnet", "20"));
  EXPECT_TRUE(resnet.contains("layer1.0.norm1.bn") && resnet.contains("layer1.0.relu1"));
  EXPECT_FALSE(resnet.contains("layer1.0.add") || resnet.contains("layer1.0.relu2") ||
               resnet.contains("layer1.0.conv1"));
  std::set<std::string> const gpt = cheap_layers(model("gpt"));
  EXPECT_TRUE(gpt.contains("h.0.ln1") && gpt.contains("h.0.attn") && gpt.contains("h.0.act"));
  EXPECT_FALSE(gpt.contains("h.0.qkv") || gpt.contains("h.0.add1"));
  // A ReLU behind a convolution keeps its output; the convolution's own output would have to be kept in its place.
  EXPECT_FALSE(cheap_layers(model("vgg")).contains("stage1.conv.0.act"));
  EXPECT_TRUE(cheap_layers(model("vgg")).contains("stage1.pool"));
}

// Korthikanti's count for a transformer: of 16 values of B T C per layer 6 remain with recomputation of norms, GELU and
// attention: what each of the two norms and the residual sums read, query, key and value, and GELU's input... by name:
// the block's input (1), qkv (3), add1 (1), fc (4).
TEST(Selective, KeepsNineOfSixteenAndNoScores) {
  std::size_t const layers = 4, tokens = 4 * 64, width = 128;
  Graph const graph = model("gpt");
  auto const kept = [&](bool selective) {
    Choices const choices{.batch = 4, .selective = selective, .delete_early = true};
    Plan const plan = plan_training(graph, lay_out(graph, choices), choices);
    return left_behind(plan);
  };
  // Gone per layer: ln1, attention's output, ln2 (1 each), GELU's output (4), scores and the norms' own numbers twice.
  std::uint64_t const scores = 4 * 4 * 64 * 64, norms = 4 * tokens;
  // And the last norm's output and numbers.
  std::uint64_t const gone = layers * (7 * tokens * width + scores + norms) + tokens * width + 2 * tokens;
  EXPECT_EQ(kept(false) - kept(true), 4 * gone);
}

}  // namespace
}  // namespace tidemark::trainer
