// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/replay.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "allocator/core/plan/replay_source.h"

namespace tidemark::plan {
namespace {

// A program: allocations by size and, for each, how many allocations later it is freed (it may be in the next
// iteration).
struct Program {
  struct Step {
    std::uint64_t size_bytes;
    std::size_t lives;
  };
  std::vector<Step> steps;
};

Program training(std::uint64_t seed, std::size_t layers = 10) {
  std::mt19937_64 random(seed);
  Program p;
  std::size_t const total = layers * 6;
  for (std::size_t i = 0; i < layers; ++i) {
    p.steps.push_back({1000 + 512 * (random() % 30), total - p.steps.size() - i});  // kept until the backward pass
    p.steps.push_back({700 + 16 * i, 1 + random() % 3});
    p.steps.push_back({4096 * (1 + random() % 3), 2});
  }
  for (std::size_t i = 0; i < layers; ++i) {
    p.steps.push_back({300 * (1 + i), 2});
    p.steps.push_back({5000 + 16 * i, total + 3});  // a gradient that meets its successor
    p.steps.push_back({2048, 1});
  }
  return p;
}

// Runs programs against a recorder and a replay, as the allocator would, and watches what is handed out.
class Host {
 public:
  Recorder recorder;
  Replay replay;
  std::uint64_t placed = 0, elsewhere = 0;

  void run(const Program& program) {
    for (auto const& step : program.steps) allocate(step.size_bytes, step.lives);
  }
  void allocate(std::uint64_t size_bytes, std::size_t lives) {
    end_due();
    AllocEvent const event{.size_bytes = size_bytes};
    std::uint64_t const number = recorder.on_alloc(event);
    auto const offset = replay.place(event);
    ++(offset ? placed : elsewhere);
    if (offset) hand_out(*offset, (size_bytes + 511) / 512 * 512);
    due_.emplace(now_ + lives, Held{number, offset});
    ++now_;
  }
  void end_due() {
    while (!due_.empty() && due_.begin()->first <= now_) {
      Held const held = due_.begin()->second;
      due_.erase(due_.begin());
      recorder.on_free(held.number);
      if (!held.offset) continue;
      alive_.erase(*held.offset);
      EXPECT_TRUE(replay.release(*held.offset));
    }
  }
  // Records until an iteration is known, and serves from its plan from then on.
  void learn(const Program& program) {
    for (int t = 0; t < 8 && !recorder.ready(); ++t) run(program);
    ASSERT_TRUE(recorder.ready());
    Recorded const r = recorder.take(512);
    auto const layout = plan_circular(r.iteration, {});
    ASSERT_TRUE(layout.ok());
    replay.add(std::make_shared<ServingPlan>(r, *layout));
  }
  void clear_counts() { placed = elsewhere = 0; }

 private:
  struct Held {
    std::uint64_t number;
    std::optional<std::uint64_t> offset;
  };
  void hand_out(std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_LE(offset + bytes, replay.arena_bytes());
    for (auto const& [from, to] : alive_) EXPECT_TRUE(to <= offset || offset + bytes <= from) << "memory is shared";
    alive_[offset] = offset + bytes;
  }
  std::multimap<std::uint64_t, Held> due_;
  std::map<std::uint64_t, std::uint64_t> alive_;
  std::uint64_t now_ = 0;
};

TEST(Replay, WithoutAPlanThereIsNoPlace) {
  Replay replay;
  EXPECT_EQ(replay.place({.size_bytes = 512}), std::nullopt);
  EXPECT_FALSE(replay.release(0));
}

TEST(Replay, ASteadyProgramIsServedEntirelyFromThePlan) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Host host;
    Program const program = training(seed);
    host.learn(program);
    for (int t = 0; t < 3; ++t) host.run(program);  // old blocks end, the cursor finds its place
    host.clear_counts();
    for (int t = 0; t < 5; ++t) host.run(program);
    EXPECT_EQ(host.elsewhere, 0U) << "seed " << seed;
    EXPECT_EQ(host.placed, 5 * program.steps.size());
  }
}

TEST(Replay, AStrayAllocationCostsOnlyItself) {
  Host host;
  Program const program = training(3);
  host.learn(program);
  for (int t = 0; t < 3; ++t) host.run(program);
  host.clear_counts();
  for (int t = 0; t < 4; ++t) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      if (i == 17) host.allocate(123456, 5);
      host.allocate(program.steps[i].size_bytes, program.steps[i].lives);
    }
  }
  EXPECT_EQ(host.elsewhere, 4U);
}

TEST(Replay, AStrayThatLooksLikeALaterOneIsForgiven) {
  Host host;
  Program const program = training(3);
  host.learn(program);
  for (int t = 0; t < 3; ++t) host.run(program);
  host.clear_counts();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (i == 17) host.allocate(program.steps[i + 9].size_bytes, 5);  // then goes on as ever
    host.allocate(program.steps[i].size_bytes, program.steps[i].lives);
  }
  for (int t = 0; t < 3; ++t) host.run(program);
  EXPECT_LE(host.elsewhere, 4U);
}

TEST(Replay, AllocationsThatAreLeftOutAreSkipped) {
  Host host;
  Program const program = training(3);
  host.learn(program);
  for (int t = 0; t < 3; ++t) host.run(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    if (i < 20 || i > 25) host.allocate(program.steps[i].size_bytes, program.steps[i].lives);
  auto const before = host.replay.counts();
  // Lifetimes count allocations here, so that leaving some out shifts frees too: for an iteration places are taken.
  host.run(program);
  EXPECT_EQ(host.replay.counts().unknown, before.unknown) << "the cursor is where the program is";
  host.clear_counts();
  for (int t = 0; t < 3; ++t) host.run(program);
  EXPECT_EQ(host.elsewhere, 0U);
}

TEST(Replay, FindsItsPlaceAgainAfterSomethingElse) {
  Host host;
  Program const program = training(5);
  host.learn(program);
  for (int t = 0; t < 3; ++t) host.run(program);
  for (std::uint64_t i = 0; i < 300; ++i) host.allocate(100'000 + i, 2);  // an evaluation
  for (int t = 0; t < 2; ++t) host.run(program);
  host.clear_counts();
  for (int t = 0; t < 4; ++t) host.run(program);
  EXPECT_EQ(host.elsewhere, 0U);
}

TEST(Replay, SeveralShapesHaveAPlanEach) {
  std::vector<Program> const shapes{training(1, 8), training(2, 10), training(3, 12)};
  Host host;
  for (Program const& shape : shapes) host.learn(shape);
  EXPECT_EQ(host.replay.plans(), 3U);
  std::mt19937_64 random(9);
  for (int t = 0; t < 10; ++t) host.run(shapes[random() % 3]);
  host.clear_counts();
  std::uint64_t total = 0;
  for (int t = 0; t < 40; ++t) {
    Program const& shape = shapes[random() % 3];
    host.run(shape);
    total += shape.steps.size();
  }
  // What one shape carries over may lie where the next one wants to be.
  EXPECT_GT(host.placed, total * 7 / 10);
  EXPECT_GT(host.replay.counts().switched, 5U);
}

TEST(Replay, TheOldestOfTooManyPlansIsDropped) {
  Host host;
  for (std::uint64_t seed = 0; seed < Replay::kMostPlans + 3; ++seed) host.learn(training(seed, 5 + seed));
  EXPECT_EQ(host.replay.plans(), Replay::kMostPlans);
}

TEST(ReplaySource, GivesTheArenaTheSamePlacesInGranules) {
  using allocator::DomainId, allocator::Granules;
  Recorder recorder;
  for (int t = 0; t < 4; ++t)
    for (Granules g = 1; g <= 20; ++g) recorder.on_free(recorder.on_alloc(event_of(DomainId{3}, g)));
  ASSERT_TRUE(recorder.ready());
  Recorded const r = recorder.take(allocator::kGranuleBytes);
  // All alive at once, so that each has a place of its own.
  Iteration all = r.iteration;
  for (Block& b : all.blocks) b.end = b.begin + all.period;
  auto const layout = plan_circular(all, {});
  ASSERT_TRUE(layout.ok());
  Replay replay;
  replay.add(std::make_shared<ServingPlan>(Recorded{r.events, all}, *layout));
  ReplaySource source(replay);
  std::vector<char> used(20 * 21 / 2);
  for (int t = 0; t < 2; ++t) {
    for (AllocEvent const& e : r.events) {
      auto const at = source.next(DomainId{3}, allocator::to_granules(e.size_bytes));
      if (t == 0) continue;  // the cursor finds its place
      ASSERT_TRUE(at);
      for (Granules g = 0; g < allocator::to_granules(e.size_bytes); ++g) EXPECT_EQ(used.at(*at + g)++, 0);
    }
  }
  EXPECT_EQ(source.next(DomainId{2}, 1), std::nullopt) << "another domain";
  EXPECT_EQ(replay.slots().taken_blocks(), 0U);
}

TEST(Replay, WhateverTheProgramDoesNoMemoryIsShared) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    Program program = training(seed);
    Host host;
    host.learn(program);
    for (int t = 0; t < 30; ++t) {
      // Sizes of the plan in another order, other lifetimes, strangers: Host::hand_out watches.
      if (t % 3 == 0) std::shuffle(program.steps.begin(), program.steps.end(), random);
      for (auto& step : program.steps)
        if (random() % 5 == 0) step.lives = 1 + random() % 200;
      host.run(program);
      if (random() % 2 == 0) host.allocate(1 + random() % 9000, random() % 50);
    }
  }
}

}  // namespace
}  // namespace tidemark::plan
