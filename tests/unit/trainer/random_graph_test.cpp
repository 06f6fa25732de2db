// SPDX-License-Identifier: Apache-2.0
// Networks that nobody would draw: rows of random ops that read random values before them, some of them often. Whatever
// is computed again, and in whatever order: the same bits, the planned peak, and no budget exceeded.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "samples/trainer/choose.h"
#include "tests/unit/trainer/fixture.h"

namespace tidemark::trainer {
namespace {

// All values are pictures of 3 x 6 x 6, so that any two can be added; in the end all that nobody has read are.
std::string random_table(std::mt19937& random, std::size_t rows) {
  std::string table = "data pictures 2 6 6 classes=4\nv0 conv out=3 size=3 pad=1\n";
  std::set<std::string> unread{"v0"};
  std::vector<std::string> values{"v0"};
  auto const pick = [&] { return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 4)]; };
  auto const add_row = [&](const std::string& op, const std::vector<std::string>& inputs) {
    std::string const name = "v" + std::to_string(values.size());
    table += name + " " + op + " <-";
    for (const std::string& input : inputs) {
      table += " " + input;
      unread.erase(input);
    }
    table += "\n";
    values.push_back(name);
    unread.insert(name);
  };
  const char* const ops[] = {
      "conv out=3 size=3 pad=1", "conv out=3",      "relu", "tanh", "sigmoid", "gelu", "batchnorm",
      "groupnorm groups=3",      "dropout rate=0.2"};
  for (std::size_t i = 0; i < rows; ++i) {
    if (random() % 4 == 0)
      add_row("add", {pick(), pick()});
    else
      add_row(ops[random() % std::size(ops)], {pick()});
  }
  while (unread.size() > 1) add_row("add", {*unread.begin(), *unread.rbegin()});
  return table + "gap gap <- " + *unread.begin() + "\nhead linear out=4\nloss cross-entropy\n";
}

void expect_same(const Outcome& got, const Outcome& expected, const std::string& table) {
  EXPECT_TRUE(same_bits(got.gradients, expected.gradients)) << table;
  EXPECT_TRUE(same_bits(got.parameters, expected.parameters)) << table;
  EXPECT_TRUE(same_bits(got.statistics, expected.statistics)) << table;
  EXPECT_EQ(got.losses, expected.losses) << table;
  EXPECT_EQ(got.peak_bytes, got.planned_bytes) << table;
}

TEST(RandomGraphs, RecomputationChangesNoBit) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    std::string const table = random_table(random, 4 + random() % 24);
    Graph const graph = graph_of(table);
    Choices const plain{.batch = 3, .optimizer = Optimizer::Momentum};
    Outcome const expected = train(graph, plain, 2);
    auto const with = [&](auto change) {
      Choices choices = plain;
      change(choices);
      Outcome const got = train(graph, choices, 2);
      expect_same(got, expected, table);
      return got.peak_bytes;
    };
    std::uint64_t const sqrt = with([](Choices& c) { c.checkpoint = Checkpoint::Sqrt; });
    EXPECT_LE(with([](Choices& c) { c.checkpoint = Checkpoint::Optimal; }), sqrt) << table;
    with([](Choices& c) { c.selective = true; });
    with([](Choices& c) { c.selective = c.in_place = c.delete_early = c.offload = true; });
    with([](Choices& c) {
      c.checkpoint = Checkpoint::Optimal;
      c.selective = c.in_place = c.step_in_backward = true;
    });
    // The least that can be done: everything is computed again and again.
    Choices tight = plain;
    tight.checkpoint = Checkpoint::Budget;
    tight.budget_bytes = 1;
    std::string const hint = choose_schedule(graph, lay_out(graph, tight), tight).error().hint;
    std::uint64_t const least = std::stoull(hint.substr(hint.find(':') + 1));
    EXPECT_LE(with([&](Choices& c) {
                c.checkpoint = Checkpoint::Budget;
                c.budget_bytes = least;
              }),
              least)
        << table;
  }
}

}  // namespace
}  // namespace tidemark::trainer
