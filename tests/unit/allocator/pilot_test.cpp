// SPDX-License-Identifier: Apache-2.0
// The allocator plans by itself: what it finds, serves, leaves, and what it never does.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/allocator/loop_program.h"

namespace tidemark::allocator {
namespace {

constexpr Options kInForeground = {.plan_search_seconds = 0, .plan_in_foreground = true, .plan_from_bytes = 0};
constexpr int kEnough = 60;  // iterations of a training_loop until it is surely served

struct PilotTest : AllocatorTest {
  explicit PilotTest(const tests::FakeOptions& fake = {.capacity_bytes = 2ull << 30},
                     const Options& options = kInForeground, Schedule schedule = Schedule::Late)
      : AllocatorTest(fake, options, schedule) {}
  std::string told() const {
    Statistics const s = statistics();
    return ": " + std::to_string(s.plans_made) + " plans, " + std::to_string(s.plans_unneeded) + " unneeded, " +
           std::to_string(s.plans_left) + " left, " + std::to_string(s.reserved_bytes >> 20) + " MiB";
  }
  // Hits per hundred allocations while f runs.
  template <class F>
  std::uint64_t hit_percent(F f) {
    Statistics const before = statistics();
    f();
    Statistics const after = statistics();
    return (after.plan_hits - before.plan_hits) * 100 / (after.allocations - before.allocations);
  }
};

struct Seeds : PilotTest, testing::WithParamInterface<std::uint32_t> {};

TEST_P(Seeds, ALoopIsFoundAndServedFromItsPlanWithoutTheDriver) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(GetParam());
  runner.run(program, kEnough);
  runner.clear_peak();
  std::uint64_t const calls = statistics().driver_calls;
  EXPECT_EQ(hit_percent([&] { runner.run(program, 5); }), 100u) << told();
  EXPECT_EQ(statistics().driver_calls, calls);
  EXPECT_LE(statistics().reserved_bytes, runner.peak_live_bytes() * 102 / 100 + 2 * kFrameBytes);
  EXPECT_EQ(allocator->check(), "");
  EXPECT_GT(statistics().plan_search_ns, 0u);
}
INSTANTIATE_TEST_SUITE_P(Some, Seeds, testing::Range(1u, 11u));

TEST_F(PilotTest, TheSwitchDoesNotDoubleWhatIsReserved) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    std::uint64_t most[2] = {};
    for (bool const plan : {false, true}) {
      Options options = kInForeground;
      options.plan = plan;
      options.capacity_bytes = 2ull << 30;
      allocator = Allocator::make(device, options);
      LoopRunner runner(*this);
      for (int i = 0; i < kEnough; ++i)
        for (const LoopStep& step : training_loop(seed, 12, 1'000'000)) {
          runner.allocate(step.bytes, step.lives);
          most[plan] = std::max(most[plan], statistics().reserved_bytes);
        }
      EXPECT_EQ(statistics().plan_hits != 0, plan) << "seed " << seed << told();
      runner.free_everything();
      allocator->give_back(~0ull >> 1);
    }
    EXPECT_LE(most[1], most[0] * 102 / 100 + kFrameBytes) << "seed " << seed;
  }
}

TEST_F(PilotTest, AStrayAllocationInEveryIterationDoesNotEndThePlan) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(2);
  runner.run(program, kEnough);
  std::uint64_t n = 0;
  EXPECT_GE(hit_percent([&] {
              for (int i = 0; i < 20; ++i)
                for (std::size_t k = 0; k < program.size(); ++k) {
                  if (k == 17) runner.allocate(54321 + 512 * ++n, 9);
                  runner.allocate(program[k].bytes, program[k].lives);
                }
            }),
            95u);
}

TEST_F(PilotTest, AfterSomethingElseTheLoopIsFollowedAgain) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(3);
  runner.run(program, kEnough);
  for (int i = 0; i < 3; ++i) {
    std::mt19937 random(7);
    EXPECT_LT(hit_percent([&] {
                for (int k = 0; k < 200; ++k) runner.allocate(1 + random() % (3 << 20), 1 + random() % 8);
              }),
              20u);
    runner.run(program, 4);
    EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << "after evaluation " << i;
  }
}

TEST_F(PilotTest, AProgramThatChangesItsShapeGetsAnotherPlan) {
  LoopRunner runner(*this);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    LoopProgram const program = training_loop(seed, 8 + 3 * seed);
    // A loop that has ended may come again: the next one is believed when it has gone on for longer.
    runner.run(program, kEnough * static_cast<int>(seed));
    EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << "shape " << seed << told();
  }
}

TEST_F(PilotTest, ShapesThatTakeTurnsHaveAPlanEach) {
  LoopRunner runner(*this);
  std::vector<LoopProgram> const shapes = {training_loop(1, 10), training_loop(2, 12)};
  runner.run(shapes[0], kEnough);
  runner.run(shapes[1], 2 * kEnough);
  std::mt19937 random(5);
  EXPECT_GE(hit_percent([&] {
              for (int i = 0; i < 60; ++i) runner.run(shapes[random() % 2]);
            }),
            60u)
      << told();
}

TEST_F(PilotTest, WhereNothingIsGainedMagazinesServe) {
  LoopRunner runner(*this);
  LoopProgram program;
  for (std::size_t i = 0; i < 12; ++i) program.push_back({(2 << 20) * (1 + i), 12 - i});
  runner.run(program, 250);
  EXPECT_EQ(statistics().plans_made, 0u);
  EXPECT_GE(statistics().plans_unneeded, 1u);
  EXPECT_EQ(statistics().plan_hits, 0u);
}

TEST_F(PilotTest, BlocksOutliveThePlanAndEverythingCanBeGivenBack) {
  {
    LoopRunner runner(*this);
    LoopProgram const program = training_loop(4);
    runner.run(program, kEnough);
    for (std::size_t k = 0; k < program.size() / 4; ++k) runner.allocate(program[k].bytes, program[k].lives);
    EXPECT_GT(runner.live(), 5u);
    EXPECT_GT(allocator->give_back(~0ull >> 1), 0u) << "the plan's frames that are free" << told();
    EXPECT_GE(statistics().plans_left, 1u);
    EXPECT_EQ(allocator->check(), "");
    runner.run(program, 2);
  }
  device.run_everything();
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(statistics().reserved_bytes, 0u);
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST_F(PilotTest, WhatCanBeGivenBackIsCounted) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(4);
  runner.run(program, kEnough);
  for (std::size_t k = 0; k < program.size() / 4; ++k) runner.allocate(program[k].bytes, program[k].lives);
  DeviceMemory memory;
  ASSERT_EQ(allocator->memory_info(&memory), Status::Ok);
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(memory.free_bytes, (2ull << 30) - device.used_bytes());
}

TEST_F(PilotTest, ABlockThatIsFreedTwiceIsFoundInAPlanToo) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(1);
  runner.run(program, kEnough);
  runner.free_due();
  std::uint64_t const hits = statistics().plan_hits;
  std::uint64_t const a = allocate({program[0].bytes});
  ASSERT_EQ(statistics().plan_hits, hits + 1);
  Allocator::Block first;
  ASSERT_TRUE(allocator->describe(a, &first));
  EXPECT_EQ(first.requested_bytes, program[0].bytes);
  EXPECT_NE(allocator->free(a + 512), Freed::Yes) << "inside of it";
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(allocator->free(a), Freed::NotLive);
  EXPECT_FALSE(allocator->describe(a, &first));
}

TEST_F(PilotTest, AnAddressInsideOfABlockIsFoundInAPlanToo) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(1);
  runner.run(program, kEnough);
  std::uint64_t const hits = statistics().plan_hits;
  std::vector<std::uint64_t> blocks;
  for (std::size_t k = 0; k < 3; ++k) blocks.push_back(allocate({program[k].bytes}));
  ASSERT_GT(statistics().plan_hits, hits);
  for (std::size_t k = 0; k < 3; ++k) {
    Allocator::Block found;
    for (std::uint64_t const inside : {std::uint64_t{0}, program[k].bytes / 2, program[k].bytes - 1}) {
      ASSERT_TRUE(allocator->describe_around(blocks[k] + inside, &found)) << k << " at " << inside;
      EXPECT_EQ(found.address, blocks[k]);
    }
    allocator->free(blocks[k]);
    EXPECT_FALSE(allocator->describe_around(blocks[k] + program[k].bytes / 2, &found));
  }
}

TEST_F(PilotTest, WhoMayUseAPlansMemoryIsToldAnewToo) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(1);
  runner.run(program, kEnough);
  runner.free_everything();
  std::uint64_t const pieces = statistics().reserved_bytes / kFrameBytes;
  std::uint64_t const before = device.calls(tests::Call::SetAccess);
  EXPECT_EQ(allocator->renew_access(), Status::Ok);
  EXPECT_EQ(device.calls(tests::Call::SetAccess) - before, pieces);
}

TEST_F(PilotTest, WhereWorkMayWaitForTheHostAPlanIsTakenUpWithoutWaiting) {
  Stream const s = make_stream();
  allocator->host_may_hold_work();
  LoopRunner runner(*this);
  runner.use(s, false);
  LoopProgram const program = training_loop(2);
  runner.run(program, 2);  // what it needs to grow
  std::uint64_t const waits = statistics().waits;
  std::uint64_t const extensions = statistics().extensions;
  runner.run(program, kEnough);
  EXPECT_GT(statistics().plan_hits, 0u) << told();
  EXPECT_LE(statistics().waits - waits, statistics().extensions - extensions);
}

struct TightPilot : PilotTest {
  TightPilot()
      : PilotTest(
            {.capacity_bytes = 2ull << 30},
            {.limit_bytes = 200 << 20, .plan_search_seconds = 0, .plan_in_foreground = true, .plan_from_bytes = 0}) {}
};
TEST_F(TightPilot, APlanGivesItsFramesUpBeforeAnAllocationFails) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(1, 8);
  runner.run(program, kEnough);
  ASSERT_GT(statistics().plan_hits, 0u) << told();
  runner.free_everything();
  std::uint64_t const other = allocate(180_MiB);
  EXPECT_NE(other, 0u);
  allocator->free(other);
  runner.run(program, 3);
}

// --- a better layout than the first ---

struct SearchingPilot : PilotTest {
  SearchingPilot()
      : PilotTest({.capacity_bytes = 2ull << 30}, {.plan_search_seconds = 0,
                                                   .plan_search_looks = 30'000'000,
                                                   .plan_in_foreground = true,
                                                   .plan_from_bytes = 0}) {}
  // What stays for good, with room between that nobody needs but the loop.
  static void begin(LoopRunner& runner) {
    for (std::size_t i = 0; i < 12; ++i) {
      runner.allocate(600'000 + 512 * i, std::size_t{1} << 40);
      runner.allocate(800'000, 30 - 2 * i);
    }
    for (int i = 0; i < 20; ++i) runner.allocate(512, 1);
  }
  std::uint64_t holes() const { return allocator->arena().use().hole_bytes; }
};

TEST_F(SearchingPilot, UsesWhatIsFreeBetweenBlocksThatStay) {
  LoopRunner runner(*this);
  begin(runner);
  LoopProgram const program = training_loop(2);
  std::uint64_t reserved_before = 0, holes_before = 0;
  for (int i = 0; i < 3 * kEnough && statistics().plans_improved == 0; ++i) {
    runner.run(program);
    reserved_before = statistics().reserved_bytes;
    holes_before = holes();
  }
  ASSERT_EQ(statistics().plans_improved, 1u) << told();
  runner.run(program, 10);
  std::uint64_t const calls = statistics().driver_calls;
  EXPECT_EQ(hit_percent([&] { runner.run(program, 5); }), 100u) << told();
  EXPECT_EQ(statistics().driver_calls, calls);
  EXPECT_LT(statistics().reserved_bytes, reserved_before);
  EXPECT_LT(holes(), holes_before / 2) << "of " << holes_before;
  EXPECT_EQ(allocator->check(), "");
}

TEST_F(SearchingPilot, WhatCanBeGivenBackIsCounted) {
  LoopRunner runner(*this);
  begin(runner);
  LoopProgram const program = training_loop(2);
  for (int i = 0; i < 3 * kEnough && statistics().plans_improved == 0; ++i) runner.run(program);
  ASSERT_EQ(statistics().plans_improved, 1u) << told();
  runner.run(program, 3);
  for (std::size_t k = 0; k < program.size() / 4; ++k) runner.allocate(program[k].bytes, program[k].lives);
  DeviceMemory memory;
  ASSERT_EQ(allocator->memory_info(&memory), Status::Ok);
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(memory.free_bytes, (2ull << 30) - device.used_bytes());
  runner.free_everything();
  device.run_everything();
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(device.used_bytes(), 0u);
}

TEST_F(SearchingPilot, AfterSomethingElseTheRoomBetweenIsUsedAgain) {
  LoopRunner runner(*this);
  begin(runner);
  LoopProgram const program = training_loop(2);
  for (int i = 0; i < 3 * kEnough && statistics().plans_improved == 0; ++i) runner.run(program);
  runner.run(program, 5);
  std::uint64_t const best = statistics().reserved_bytes;
  for (int i = 0; i < 3; ++i) {
    std::mt19937 random(7 + static_cast<unsigned>(i));  // not a loop of its own
    for (int k = 0; k < 3000; ++k) runner.allocate(1 + random() % (3 << 20), 1 + random() % 8);
    EXPECT_EQ(allocator->check(), "");
    runner.run(program, 12);
    EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << "after evaluation " << i << told();
  }
  EXPECT_LE(statistics().reserved_bytes, best + 2 * kFrameBytes);
}

struct Turns : PilotTest, testing::WithParamInterface<std::size_t> {};

TEST_P(Turns, ASecondStreamMayComeAtAnyTime) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(3);
  runner.use(s, false);
  runner.run(program, kEnough);
  EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << told();
  for (std::size_t k = 0; k < GetParam(); ++k) runner.allocate(program[k].bytes, program[k].lives);
  runner.use(t, false);
  runner.run(program, 5);
  for (Stream const& stream : {s, t}) {
    runner.use(stream, true);
    runner.run(program, kEnough);
    EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << "a loop of a stream's own" << told();
  }
  EXPECT_EQ(allocator->check(), "");
}
INSTANTIATE_TEST_SUITE_P(Places, Turns, testing::Values(0u, 20u, 50u, 71u));

TEST_F(PilotTest, AStreamThatEndsTakesItsPlanAlong) {
  Stream const s = make_stream();
  Stream t = make_stream();
  LoopRunner first(*this);
  first.use(s, true);
  first.allocate(1 << 20, 10);
  for (int i = 0; i < 3; ++i) {
    LoopRunner runner(*this);
    runner.use(t, true);
    LoopProgram const program = training_loop(5);
    runner.run(program, kEnough);
    EXPECT_GT(statistics().plan_hits, 0u);
    runner.free_everything();
    allocator->remove_stream(t.domain);
    t = make_stream();
  }
}

TEST_F(PilotTest, ACaptureInTheLoopIsServedBesideIt) {
  Stream const s = make_stream();
  LoopRunner runner(*this);
  runner.use(s, true);
  LoopProgram const program = training_loop(6);
  runner.run(program, 2);
  // With the first capture the order of one stream ends to be everybody's, and so does its loop.
  Allocator::CaptureId const empty = allocator->begin_capture();
  allocator->end_capture(empty);
  allocator->graphs_are_gone(empty);
  runner.run(program, kEnough);
  EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u) << told();
  for (int i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 25; ++k) runner.allocate(program[k].bytes, program[k].lives);
    Allocator::CaptureId const capture = allocator->begin_capture();
    std::uint64_t const graphs = allocate(3_MiB);
    allocator->free(graphs);
    for (std::size_t k = 25; k < 40; ++k) runner.allocate(program[k].bytes, program[k].lives);
    allocator->end_capture(capture);
    for (std::size_t k = 40; k < program.size(); ++k) runner.allocate(program[k].bytes, program[k].lives);
    allocator->graphs_are_gone(capture);
    EXPECT_EQ(allocator->check(), "");
  }
  runner.run(program, 8);
  EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u);
}

TEST_F(PilotTest, WithoutMappingThereAreNoPlansAndNoHarm) {
  tests::SimulatedDevice plain({.capacity_bytes = 1ull << 30, .can_map = false}, Schedule::Eager);
  auto const other = Allocator::make(
      plain,
      {.capacity_bytes = 1ull << 30, .plan_search_seconds = 0, .plan_in_foreground = true, .plan_from_bytes = 0});
  std::vector<std::uint64_t> blocks(30);
  for (int i = 0; i < 300; ++i) {
    for (std::size_t k = 0; k < blocks.size(); ++k)
      ASSERT_EQ(other->allocate({.bytes = 700'000 * (1 + k * k % 7)}, &blocks[k]), Status::Ok);
    for (std::uint64_t const b : blocks) EXPECT_EQ(other->free(b), Freed::Yes);
  }
  EXPECT_EQ(other->statistics().plan_hits, 0u);
  EXPECT_EQ(other->check(), "");
}

// --- with a thread of its own ---

struct BackgroundPilot : PilotTest {
  BackgroundPilot() : PilotTest({.capacity_bytes = 2ull << 30}, {.plan_search_seconds = 30, .plan_from_bytes = 0}) {}
  void run_until_served(LoopRunner& runner, const LoopProgram& program) {
    for (int i = 0; i < 100'000 && statistics().plans_made == 0; ++i) runner.run(program);
    ASSERT_GT(statistics().plans_made, 0u);
    runner.run(program, 5);
  }
};

TEST_F(BackgroundPilot, TheLayoutIsMadeBesideTheProgram) {
  LoopRunner runner(*this);
  LoopProgram const program = training_loop(2);
  run_until_served(runner, program);
  EXPECT_EQ(hit_percent([&] { runner.run(program, 3); }), 100u);
}

TEST_F(BackgroundPilot, AnAllocatorMayEndWhileItSearches) {
  std::atomic<unsigned> most{0};
  for (int i = 0; i < 3; ++i) {
    auto other =
        Allocator::make(device, {.capacity_bytes = 1ull << 30, .plan_search_seconds = 600, .plan_from_bytes = 0});
    std::mt19937 random(static_cast<unsigned>(i));
    std::vector<std::uint64_t> sizes(120);
    for (std::uint64_t& size : sizes) size = 1 + random() % (4 << 20);
    for (int t = 0; t < 2000 && solving_threads() == 0; ++t) {
      std::vector<std::uint64_t> blocks;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        std::uint64_t address = 0;
        ASSERT_EQ(other->allocate({.bytes = sizes[k]}, &address), Status::Ok);
        blocks.push_back(address);
        if (k % 3 == 2) {
          other->free(blocks[k / 2]);
          blocks[k / 2] = 0;
        }
      }
      for (std::uint64_t const b : blocks)
        if (b != 0) other->free(b);
    }
    most = std::max(most.load(), solving_threads());
    other.reset();
    EXPECT_EQ(solving_threads(), 0u);
  }
  EXPECT_EQ(most, 1u);
}

TEST(Solving, AChildOfAForkDoesNotWaitForItsParentsThread) {
  plan::Recorded iteration;
  std::mt19937 random(1);
  iteration.iteration.period = 4000;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    iteration.iteration.blocks.push_back(
        {.begin = 2 * i, .end = 2 * i + 1 + random() % 3000, .size_bytes = 512 + random() % 4'000'000});
    iteration.events.push_back({.size_bytes = iteration.iteration.blocks.back().size_bytes});
  }
  auto solving = Solving::start(std::move(iteration), {.seconds = 600}, true);
  ASSERT_NE(solving, nullptr);
  pid_t const child = fork();
  if (child == 0) {
    solving.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  while (solving->stage() == Solving::Stage::Begun) usleep(100);
  EXPECT_NE(solving->first().plan, nullptr);
  solving.reset();
  EXPECT_EQ(solving_threads(), 0u);
}

}  // namespace
}  // namespace tidemark::allocator
