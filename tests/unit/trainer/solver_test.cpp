// SPDX-License-Identifier: Apache-2.0
// The checkpoint solver on chains alone: against all schedules of its kind, tried one by one; against published and
// derived figures; and what it emits, replayed with an account of its own.
#include "samples/trainer/checkpoint_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

namespace tidemark::trainer {
namespace {

using What = Move::What;

// Stage i reads a value of a[i] and makes one of a[i + 1]; taped it keeps `taped[i]`, its output included; `extra` is
// there beside while a pass runs.
struct Stage {
  std::size_t taped = 0, work = 0, forward_extra = 0, backward_extra = 0;
};
struct Chain : ChainCosts {
  std::vector<std::size_t> a;
  std::vector<Stage> stage;

  std::size_t stages() const override { return stage.size(); }
  std::size_t tapings() const override { return 1; }
  std::uint64_t run_work(std::size_t s) const override { return stage[s].work; }
  std::uint64_t tape_work(std::size_t s, std::size_t) const override { return stage[s].work; }
  std::size_t held_by_run(std::size_t, std::size_t j, std::size_t) const override { return a[j]; }
  std::size_t held_by_tape(std::size_t s, std::size_t, std::size_t) const override { return stage[s].taped; }
  std::size_t needed_to_run(std::size_t s, std::size_t j, std::size_t t) const override {
    std::size_t most = 0;
    for (std::size_t i = s; i < j; ++i) most = std::max(most, (i == s ? 0 : a[i]) + a[i + 1] + stage[i].forward_extra);
    return most + a[t + 1];
  }
  std::size_t needed_to_tape(std::size_t s, std::size_t t, std::size_t) const override {
    const Stage& one = stage[s];
    return std::max(one.taped + one.forward_extra + a[t + 1], one.taped + a[s] + a[s + 1] + one.backward_extra);
  }
};

struct Cost {
  std::uint64_t work = 0;
  std::size_t peak = 0;
};

// What is there while a move is made, whatever the chain's sizes are: values that a run has made live until their last
// reading before they are made again; what a tape holds, until its stage's backward pass. The first value is the
// caller's.
struct Moment {
  Move move;
  std::vector<std::size_t> values, tapes;
  std::size_t gradient = 0;  // of which value it is there
};

bool is_read_after(const std::vector<Move>& moves, std::size_t k, std::size_t v) {
  for (std::size_t later = k + 1; later < moves.size(); ++later) {
    if (moves[later].stage == v) return true;
    if (moves[later].stage + 1 == v && moves[later].what != What::Backward) return false;
  }
  return false;
}

// Nothing where a stage has no input, or a backward pass no tape.
std::vector<Moment> moments_of(const std::vector<Move>& moves, std::size_t stages) {
  std::vector<Moment> moments;
  std::vector<bool> value(stages + 1), taped(stages);
  value[0] = true;
  std::size_t gradient = stages;
  for (std::size_t k = 0; k < moves.size(); ++k) {
    std::size_t const i = moves[k].stage;
    bool const backward = moves[k].what == What::Backward;
    if (!(value[i] || (i > 0 && taped[i - 1])) || (backward && !(taped[i] && gradient == i + 1))) return {};
    Moment moment{.move = moves[k], .gradient = gradient};
    for (std::size_t v = 1; v <= stages; ++v)
      if (value[v]) moment.values.push_back(v);
    for (std::size_t t = 0; t < stages; ++t)
      if (taped[t]) moment.tapes.push_back(t);
    moments.push_back(std::move(moment));
    if (moves[k].what == What::Run) value[i + 1] = true;
    if (moves[k].what == What::Tape) taped[i] = true;
    if (backward) taped[i] = false, gradient = i;
    for (std::size_t v = 1; v <= stages; ++v) value[v] = value[v] && is_read_after(moves, k, v);
  }
  return gradient == 0 ? moments : std::vector<Moment>{};
}

Cost replay(const Chain& chain, const std::vector<Moment>& moments) {
  Cost cost;
  for (const Moment& moment : moments) {
    std::size_t const i = moment.move.stage;
    const Stage& stage = chain.stage[i];
    std::size_t live = chain.a[moment.gradient];
    for (std::size_t const v : moment.values) live += chain.a[v];
    for (std::size_t const t : moment.tapes) live += chain.stage[t].taped;
    switch (moment.move.what) {
      case What::Run: live += chain.a[i + 1] + stage.forward_extra; break;
      case What::Tape: live += stage.taped + stage.forward_extra; break;
      case What::Backward: live += chain.a[i] + stage.backward_extra; break;
    }
    if (moment.move.what != What::Backward) cost.work += stage.work;
    cost.peak = std::max(cost.peak, live);
  }
  return cost;
}

// All schedules of a region, by the definition and not by the recurrence of costs.
std::vector<std::vector<Move>> all_schedules(std::size_t s, std::size_t t) {
  std::vector<std::vector<Move>> all;
  std::vector<std::vector<Move>> const rests = s == t ? std::vector<std::vector<Move>>{{}} : all_schedules(s + 1, t);
  for (const auto& rest : rests) {
    std::vector<Move> moves{{.what = What::Tape, .stage = s}};
    moves.insert(moves.end(), rest.begin(), rest.end());
    moves.push_back({.what = What::Backward, .stage = s});
    all.push_back(moves);
  }
  for (std::size_t j = s + 1; j <= t; ++j) {
    auto const rights = all_schedules(j, t), lefts = all_schedules(s, j - 1);
    for (const auto& right : rights)
      for (const auto& left : lefts) {
        std::vector<Move> moves;
        for (std::size_t i = s; i < j; ++i) moves.push_back({.what = What::Run, .stage = i});
        moves.insert(moves.end(), right.begin(), right.end());
        moves.insert(moves.end(), left.begin(), left.end());
        all.push_back(moves);
      }
  }
  return all;
}

Chain random_chain(std::mt19937& random, std::size_t stages) {
  auto const from = [&](std::size_t low, std::size_t high) { return low + random() % (high - low + 1); };
  Chain chain;
  for (std::size_t i = 0; i <= stages; ++i) chain.a.push_back(from(1, 6));
  for (std::size_t i = 0; i < stages; ++i)
    chain.stage.push_back({.taped = chain.a[i + 1] + from(0, 8),
                           .work = from(1, 9),
                           .forward_extra = from(0, 3),
                           .backward_extra = from(0, 3)});
  return chain;
}

Chain equal_chain(std::size_t stages, Stage stage, std::size_t a) {
  Chain chain;
  chain.a.assign(stages + 1, a);
  chain.stage.assign(stages, stage);
  return chain;
}

// Schedules of one length, made once: their costs depend on the chain, they do not.
const std::vector<std::vector<Moment>>& schedules_of(std::size_t stages) {
  static std::map<std::size_t, std::vector<std::vector<Moment>>> known;
  auto& all = known[stages];
  if (all.empty())
    for (const auto& moves : all_schedules(0, stages - 1)) all.push_back(moments_of(moves, stages));
  return all;
}

TEST(Solver, ThereAreAsManySchedulesAsThereShouldBe) {
  // Schroeder's numbers: ways to bracket.
  EXPECT_EQ(schedules_of(1).size(), 1u);
  EXPECT_EQ(schedules_of(2).size(), 2u);
  EXPECT_EQ(schedules_of(3).size(), 6u);
  EXPECT_EQ(schedules_of(5).size(), 90u);
  EXPECT_EQ(schedules_of(7).size(), 1806u);
}

// For every memory: the least work of any schedule that stays within it, or none at all.
TEST(Solver, NoScheduleOfAShortChainIsBetter) {
  std::mt19937 random(20);
  for (int round = 0; round < 10000; ++round) {
    // Of 7 stages there are 1806 schedules, of 6 394.
    std::size_t const stages = round % 100 == 0 ? 7 : round % 20 == 0 ? 6 : 1 + random() % 5;
    Chain const chain = random_chain(random, stages);
    std::map<std::size_t, std::uint64_t> least;  // work by peak
    for (const auto& moments : schedules_of(stages)) {
      ASSERT_FALSE(moments.empty());
      Cost const cost = replay(chain, moments);
      auto const [at, is_new] = least.try_emplace(cost.peak, cost.work);
      if (!is_new) at->second = std::min(at->second, cost.work);
    }
    std::size_t const slots = least.rbegin()->first + 2;
    CheckpointSolver const solver(chain, slots);
    std::optional<std::uint64_t> best;
    for (std::size_t m = 0; m <= slots; ++m) {
      if (auto const at = least.find(m); at != least.end()) best = std::min(best.value_or(at->second), at->second);
      ASSERT_EQ(solver.work(m), best) << stages << " stages, memory " << m << ", round " << round;
      if (!best) continue;
      auto const moments = moments_of(solver.moves(m), stages);
      ASSERT_FALSE(moments.empty());
      Cost const cost = replay(chain, moments);
      ASSERT_LE(cost.peak, m);
      ASSERT_EQ(cost.work, *best);
    }
  }
}

TEST(Solver, LongRandomChainsStayWithinTheirMemory) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::size_t const stages = 20 + random() % 20;
    Chain const chain = random_chain(random, stages);
    CheckpointSolver const solver(chain, 250);
    std::optional<std::uint64_t> before;
    for (std::size_t m = 0; m <= 250; ++m) {
      auto const work = solver.work(m);
      if (!work) {
        ASSERT_FALSE(before) << "more memory cannot be worse";
        ASSERT_TRUE(solver.moves(m).empty());
        continue;
      }
      ASSERT_LE(*work, before.value_or(*work));
      before = work;
      if (m % 5 != 0) continue;
      auto const moments = moments_of(solver.moves(m), stages);
      ASSERT_FALSE(moments.empty());
      Cost const cost = replay(chain, moments);
      ASSERT_LE(cost.peak, m);
      ASSERT_EQ(cost.work, *work);
    }
  }
}

// Twenty equal stages, forward 1 and backward 2: times at some memories, from a program of its own.
TEST(Solver, TwentyEqualStages) {
  Chain const chain = equal_chain(20, {.taped = 3, .work = 1}, 1);
  CheckpointSolver const solver(chain, 70);
  for (auto const& [memory, time] : std::map<std::size_t, std::uint64_t>{
           {62, 60}, {60, 61}, {50, 65}, {40, 68}, {30, 72}, {20, 75}, {16, 77}, {12, 84}, {8, 105}})
    EXPECT_EQ(solver.work(memory).value() + 20 * 2, time) << memory;
}

// Griewank and Walther's reversals: snapshots of one slot, and a stage that can be taped only to be done backwards at
// once. Forward steps without taping for l stages and s snapshots; the closed form, and figures from the literature.
struct Snapshots : Chain {
  std::uint64_t tape_work(std::size_t, std::size_t) const override { return 0; }
  std::size_t held_by_tape(std::size_t, std::size_t, std::size_t) const override { return 1u << 20; }
  std::size_t needed_to_run(std::size_t, std::size_t, std::size_t) const override { return 0; }
  std::size_t needed_to_tape(std::size_t, std::size_t, std::size_t) const override { return 0; }
};
std::uint64_t reversal(std::uint64_t l, std::uint64_t s) {
  auto const choose = [](std::uint64_t n, std::uint64_t k) {
    std::uint64_t result = 1;
    for (std::uint64_t i = 1; i <= k; ++i) result = result * (n - k + i) / i;
    return result;
  };
  std::uint64_t r = 0;
  while (choose(s + r, s) < l) ++r;
  return r * l - choose(s + r, s + 1);
}
TEST(Solver, ReversalsWithSnapshotsTakeTheBinomialNumberOfSteps) {
  EXPECT_EQ(reversal(1000, 10), 3636u);
  EXPECT_EQ(reversal(1000, 20), 2747u);
  struct Row {
    std::size_t steps, snapshots;
    std::uint64_t expected;
  };
  for (const Row& row : {Row{10, 3, 15}, Row{16, 4, 27}, Row{50, 5, 122}, Row{100, 5, 316}, Row{100, 10, 222}}) {
    EXPECT_EQ(reversal(row.steps, row.snapshots), row.expected);
  }
  Snapshots chain;
  chain.a.assign(101, 1);
  chain.stage.assign(100, {.work = 1});
  // The state that a region begins with takes a slot, and the very first one is the caller's: as many slots as
  // snapshots.
  CheckpointSolver const solver(chain, 10);
  EXPECT_EQ(solver.work(5), 316u);
  EXPECT_EQ(solver.work(10), 222u);
  for (std::size_t const l : {1, 2, 3, 10, 16, 37, 50}) {
    Snapshots shorter;
    shorter.a.assign(l + 1, 1);
    shorter.stage.assign(l, {.work = 1});
    CheckpointSolver const few(shorter, 7);
    for (std::size_t s = 1; s <= 7; ++s)
      EXPECT_EQ(few.work(s), s >= l ? l - 1 : reversal(l, s)) << l << " steps, " << s << " snapshots";
  }
}

// Chen's sqrt(N): N equal layers in k segments keep k - 1 inputs and one segment, and run all but the last segment
// twice. The best k, its peak and its extra work; the solver is never worse with as much memory.
TEST(Solver, DominatesEqualSegments) {
  struct Row {
    std::size_t layers, segments, peak, extra;
  };
  for (const Row& row : {Row{16, 4, 7, 12}, Row{50, 5, 14, 40}, Row{64, 8, 15, 56}, Row{100, 10, 19, 90}}) {
    std::size_t best_peak = row.layers, best_extra = 0, best_k = 1;
    for (std::size_t k = 1; k <= row.layers; ++k) {
      std::size_t const size = (row.layers + k - 1) / k, used = (row.layers + size - 1) / size;
      std::size_t const last = row.layers - (used - 1) * size, peak = used - 1 + size, extra = row.layers - last;
      if (peak < best_peak || (peak == best_peak && extra < best_extra))
        best_peak = peak, best_extra = extra, best_k = used;
    }
    EXPECT_EQ(best_peak, row.peak);
    EXPECT_EQ(best_extra, row.extra);
    EXPECT_EQ(best_k, row.segments);
    // In the solver's account: inputs of one, tapes of one, and a gradient in and out beside them.
    Chain const chain = equal_chain(row.layers, {.taped = 1, .work = 1}, 1);
    std::size_t const size = (row.layers + row.segments - 1) / row.segments;
    std::vector<Move> moves;
    for (std::size_t i = 0; i + size < row.layers; ++i) moves.push_back({.what = What::Run, .stage = i});
    for (std::size_t s = row.segments; s-- > 0;) {
      std::size_t const first = s * size, end = std::min(first + size, row.layers);
      for (std::size_t i = first; i < end; ++i) moves.push_back({.what = What::Tape, .stage = i});
      for (std::size_t i = end; i-- > first;) moves.push_back({.what = What::Backward, .stage = i});
    }
    auto const moments = moments_of(moves, row.layers);
    ASSERT_FALSE(moments.empty());
    Cost const chen = replay(chain, moments);
    EXPECT_EQ(chen.work, row.layers + row.extra);
    CheckpointSolver const solver(chain, row.layers + 3);
    ASSERT_TRUE(solver.work(chen.peak));
    EXPECT_LE(*solver.work(chen.peak), chen.work);
  }
}

// Two ways to tape: the smaller is taken only where the larger does not fit.
struct TwoWays : Chain {
  std::size_t tapings() const override { return 2; }
  std::uint64_t tape_work(std::size_t s, std::size_t way) const override { return stage[s].work + way; }
  std::size_t held_by_tape(std::size_t s, std::size_t, std::size_t way) const override {
    return way == 0 ? stage[s].taped : a[s + 1];
  }
  std::size_t needed_to_tape(std::size_t s, std::size_t t, std::size_t) const override {
    return stage[s].taped + a[s] + a[t + 1];
  }
};
TEST(Solver, ChoosesAmongTapings) {
  TwoWays chain;
  chain.a.assign(9, 1);
  chain.stage.assign(8, {.taped = 4, .work = 10});
  CheckpointSolver const solver(chain, 40);
  EXPECT_EQ(solver.work(40), 80u);
  // Seven held in full are 28, and the last needs 6; each one that is held as 1 gives 3 back for 1 more.
  EXPECT_EQ(solver.work(34), 80u);
  EXPECT_EQ(solver.work(33), 81u);
  EXPECT_EQ(solver.work(31), 81u);
  EXPECT_EQ(solver.work(30), 82u);
  EXPECT_EQ(solver.work(13), 87u);
  EXPECT_GT(solver.work(12).value(), 87u);
}

// Branches that know nothing of each other, each of a product and a cheap function of it: a product is kept, or made
// again for its work. That is a knapsack, and the figures are those of PyTorch's tests of its own (memory in products
// of one unit, work in matrices of one unit; a forward and as much of a backward pass are done anyway).
struct Branches : ChainCosts {
  std::vector<std::size_t> sizes, works;

  std::size_t stages() const override { return sizes.size(); }
  std::size_t tapings() const override { return 2; }
  std::uint64_t run_work(std::size_t) const override { return 0; }
  std::uint64_t tape_work(std::size_t s, std::size_t way) const override { return way == 0 ? 0 : works[s]; }
  std::size_t held_by_run(std::size_t, std::size_t, std::size_t) const override { return 1u << 20; }
  std::size_t held_by_tape(std::size_t s, std::size_t, std::size_t way) const override {
    return way == 0 ? sizes[s] : 0;
  }
  std::size_t needed_to_run(std::size_t, std::size_t, std::size_t) const override { return 1u << 20; }
  std::size_t needed_to_tape(std::size_t s, std::size_t t, std::size_t way) const override {
    return s == t ? held_by_tape(s, t, way) : 0;
  }
  // What a schedule keeps where the backward pass begins.
  std::size_t kept(const std::vector<Move>& moves) const {
    std::size_t sum = 0;
    for (const Move& move : moves)
      if (move.what == What::Tape && move.taping == 0) sum += sizes[move.stage];
    return sum;
  }
};
TEST(Solver, BranchesAreAKnapsack) {
  struct Row {
    std::vector<std::size_t> sizes, works;
    std::size_t budget, kept;
    std::uint64_t again;
  };
  std::vector<Row> rows;
  for (std::size_t k = 0; k <= 10; ++k)  // five products of one unit, a tenth of what all would take at a time
    rows.push_back({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, k, std::min<std::size_t>(k, 5), 5 - std::min<std::size_t>(k, 5)});
  for (std::size_t const kept : {18, 17, 16, 15, 14, 13, 11, 7, 6, 5})
    rows.push_back({{11, 3, 4, 2}, {11, 3, 4, 2}, kept, kept, 20 - kept});
  for (std::size_t const kept : {42, 30, 19, 8, 3})
    rows.push_back({{3, 5, 11, 17, 14}, {3, 5, 11, 17, 14}, kept, kept, 50 - kept});
  // a x b from a x a and a x b: (1, 4) and (2, 2), then (4, 4), (6, 2) and (2, 6)
  rows.push_back({{4, 4}, {4, 8}, 8, 8, 0});
  rows.push_back({{4, 4}, {4, 8}, 4, 4, 4});
  rows.push_back({{16, 12, 12}, {64, 72, 24}, 40, 40, 0});
  rows.push_back({{16, 12, 12}, {64, 72, 24}, 28, 28, 24});
  rows.push_back({{16, 12, 12}, {64, 72, 24}, 16, 12, 88});
  for (const Row& row : rows) {
    Branches branches;
    branches.sizes = row.sizes;
    branches.works = row.works;
    CheckpointSolver const solver(branches, row.budget);
    EXPECT_EQ(solver.work(row.budget), row.again) << row.budget;
    EXPECT_EQ(branches.kept(solver.moves(row.budget)), row.kept) << row.budget;
  }
}

}  // namespace
}  // namespace tidemark::trainer
