// SPDX-License-Identifier: Apache-2.0
// Loops with everything that can happen to them, by chance: surprises, other shapes, faults of the driver, memory that
// is short, streams, captures, other threads. What is checked is always the same: no byte belongs to two, the device
// finds no memory in wrong hands, the invariants hold, and all can be given back.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/unit/allocator/loop_program.h"

namespace tidemark::allocator {
namespace {

using tests::Call;

int rounds(int few) {
  const char* const given = std::getenv("TIDEMARK_TEST_OPERATIONS");
  return given == nullptr ? few : few * static_cast<int>(std::strtol(given, nullptr, 10) / 30'000);
}

struct Chance {
  const char* name;
  Schedule schedule;
  std::uint32_t seed;
  std::uint64_t limit_bytes = 0;
  bool faults = false;
  bool streams = false;
  bool captures = false;
};

struct Loops : AllocatorTest, testing::WithParamInterface<Chance> {
  Loops()
      : AllocatorTest({.capacity_bytes = 1ull << 30},
                      {.limit_bytes = GetParam().limit_bytes,
                       .plan_search_seconds = 0,
                       .plan_search_looks = GetParam().seed % 2 == 0 ? 2'000'000u : 0u,
                       .plan_in_foreground = true,
                       .plan_from_bytes = 0},
                      GetParam().schedule) {}
};

TEST_P(Loops, WhateverHappensNoByteBelongsToTwo) {
  const Chance& chance = GetParam();
  std::mt19937 random(chance.seed);
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(make_stream());
  {
    LoopRunner runner(*this);
    runner.use(streams[0], chance.streams);
    std::vector<LoopProgram> shapes;
    for (std::uint32_t i = 0; i < 3; ++i) shapes.push_back(training_loop(chance.seed + i, 6 + random() % 5, 90'000));
    LoopProgram program = shapes[0];
    // What stays for good, with room between.
    for (std::size_t i = 0; i < 8 * (chance.seed % 2 == 0 ? 1 : 0); ++i) {
      runner.allocate(1 + random() % 700'000, std::size_t{1} << 40);
      runner.allocate(1 + random() % 900'000, 1 + random() % 20);
    }
    std::vector<Allocator::CaptureId> captures;
    for (int t = 0; t < rounds(400); ++t) {
      // Long stretches without any surprise, so that there are plans to be surprised.
      bool const calm = t % 200 < 150;
      if (!calm && random() % 3 == 0) program = shapes[random() % shapes.size()];
      if (!calm && random() % 6 == 0) program[random() % program.size()].bytes = 1 + random() % 3'000'000;
      if (!calm && random() % 4 == 0) program[random() % program.size()].lives = 1 + random() % 200;
      if (!calm && chance.streams && random() % 5 == 0)
        runner.use(streams[random() % streams.size()], random() % 3 != 0);
      if (!calm && chance.captures && random() % 6 == 0) captures.push_back(allocator->begin_capture());
      for (const LoopStep& step : program) {
        if (!calm && random() % 60 == 0) continue;
        if (!calm && random() % 60 == 0) runner.allocate(1 + random() % 2'000'000, 1 + random() % 90);
        if (chance.faults && random() % 90 == 0)
          device.fail(static_cast<Call>(1 + random() % 6), random() % 3,
                      random() % 2 == 0 ? Status::OutOfMemory : Status::Failed);
        runner.allocate(step.bytes, step.lives);
        if (!captures.empty() && random() % 40 == 0) {
          allocator->end_capture(captures.back());
          allocator->graphs_are_gone(captures.back());
          captures.pop_back();
        }
      }
      if (!calm && random() % 10 == 0) allocator->give_back(random() % (64 << 20));
      if (random() % 8 == 0) {
        ASSERT_EQ(allocator->check(), "") << "in round " << t;
      }
    }
    for (Allocator::CaptureId const capture : captures) {
      allocator->end_capture(capture);
      allocator->graphs_are_gone(capture);
    }
  }
  EXPECT_TRUE(chance.faults || chance.limit_bytes != 0 || statistics().plan_hits > 1000u) << statistics().plan_hits;
  device.run_everything();
  allocator->harvest();
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(statistics().live_bytes, 0u);
  EXPECT_TRUE(chance.faults || statistics().reserved_bytes == 0) << statistics().reserved_bytes;
  EXPECT_EQ(device.used_bytes(), statistics().reserved_bytes);
}

std::vector<Chance> chances() {
  std::vector<Chance> all;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    for (Schedule const schedule : {Schedule::Eager, Schedule::Late, Schedule::Random}) {
      all.push_back({.name = "plain", .schedule = schedule, .seed = seed});
      all.push_back({.name = "streams", .schedule = schedule, .seed = seed, .streams = true});
      all.push_back({.name = "captures", .schedule = schedule, .seed = seed, .streams = true, .captures = true});
    }
    all.push_back({.name = "faults", .schedule = Schedule::Random, .seed = seed, .faults = true});
    all.push_back({.name = "tight", .schedule = Schedule::Random, .seed = seed, .limit_bytes = 60 << 20});
    all.push_back({.name = "worst",
                   .schedule = Schedule::Random,
                   .seed = seed,
                   .limit_bytes = 64 << 20,
                   .faults = true,
                   .streams = true,
                   .captures = true});
  }
  return all;
}
std::string name_of(const testing::TestParamInfo<Chance>& chance) {
  constexpr const char* kSchedules[] = {"eager", "late", "random"};
  return std::string(chance.param.name) + "_" + kSchedules[static_cast<std::size_t>(chance.param.schedule)] + "_" +
         std::to_string(chance.param.seed);
}
INSTANTIATE_TEST_SUITE_P(Chances, Loops, testing::ValuesIn(chances()), name_of);

// --- threads ---

// Who has which granule, looked at in steps.
class Owners {
 public:
  explicit Owners(std::uint64_t base) : base_(base), owners_((16ull << 30) / kGranuleBytes) {}
  bool change(std::uint64_t address, std::uint64_t bytes, std::uint32_t from, std::uint32_t to) {
    bool good = true;
    for (std::uint64_t at = address - base_; at < address - base_ + bytes; at += 64 << 10)
      good = owners_[at / kGranuleBytes].exchange(to) == from && good;
    return good;
  }

 private:
  std::uint64_t base_;
  ReservedArray<std::atomic<std::uint32_t>> owners_;
};

// Threads that loop side by side on streams of their own, some of whose blocks end in other threads; now and then one
// does something else, and one asks for memory back.
void run_threads(const Options& options, unsigned threads, unsigned streams) {
  tests::FakeUpstream driver({.capacity_bytes = 2ull << 30});
  auto const allocator = Allocator::make(driver, options);
  Owners owners(allocator->arena().pool().base());
  std::vector<DomainId> domains;
  for (unsigned i = 0; i < streams; ++i) domains.push_back(allocator->add_stream(StreamHandle{i + 1}));
  struct Given {
    std::uint64_t address, bytes;
    std::uint32_t owner;
  };
  std::mutex mutex;
  std::vector<Given> given;
  std::atomic<unsigned> mistakes{0};
  auto const release = [&](const Given& block, DomainId domain) {
    if (!owners.change(block.address, block.bytes, block.owner, 0)) ++mistakes;
    if (allocator->free_in(block.address, domain) != Freed::Yes) ++mistakes;
  };
  auto const work = [&](unsigned t) {
    std::mt19937 random(t);
    DomainId const domain = domains[t % domains.size()];
    LoopProgram const program = training_loop(t + 1, 8, 60'000);
    std::multimap<std::uint64_t, Given> due;
    std::uint64_t now = 0;
    for (int i = 0; i < rounds(120); ++i) {
      for (LoopStep step : program) {
        for (; !due.empty() && due.begin()->first <= now; due.erase(due.begin())) release(due.begin()->second, domain);
        if (i % 40 > 34 && random() % 20 == 0) step.bytes = 1 + random() % 1'000'000;
        Given block{0, step.bytes, t + 1};
        ++now;
        if (allocator->allocate({.bytes = step.bytes, .domain = domain}, &block.address) != Status::Ok) continue;
        if (!owners.change(block.address, block.bytes, 0, block.owner)) ++mistakes;
        allocator->before_submission(domain);
        allocator->after_submission(domain);
        std::lock_guard const guard(mutex);
        if (random() % 200 == 0)
          given.push_back(block);
        else
          due.emplace(now + step.lives, block);
      }
      std::vector<Given> theirs;
      if (random() % 5 == 0) {
        std::lock_guard const guard(mutex);
        theirs.swap(given);
      }
      for (const Given& block : theirs) release(block, DomainId::Shared);
      if (random() % 60 == 0) allocator->give_back(8 << 20);
    }
    for (const auto& [when, block] : due) release(block, domain);
  };
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) running.emplace_back(work, t);
  for (std::thread& t : running) t.join();
  for (const Given& block : given) release(block, DomainId::Shared);
  EXPECT_EQ(mistakes, 0u);
  EXPECT_EQ(allocator->check(), "");
  EXPECT_EQ(allocator->statistics().live_bytes, 0u);
  allocator->give_back(~0ull >> 1);
  EXPECT_EQ(driver.used_bytes(), 0u);
  EXPECT_TRUE(driver.violations().empty()) << driver.violations().front();
}

TEST(PilotThreads, EachOnAStreamOfItsOwn) {
  run_threads({.capacity_bytes = 2ull << 30, .plan_search_seconds = 0.05, .plan_from_bytes = 0}, 4, 4);
}
TEST(PilotThreads, OneAlone) {
  run_threads({.capacity_bytes = 2ull << 30, .plan_search_seconds = 0.05, .plan_from_bytes = 0}, 1, 1);
}
TEST(PilotThreads, MoreStreamsThanLoops) {
  run_threads(
      {.capacity_bytes = 2ull << 30, .plan_search_seconds = 0, .plan_in_foreground = true, .plan_from_bytes = 0}, 6, 6);
}
TEST(PilotThreads, AllOnOneStream) {
  run_threads({.capacity_bytes = 2ull << 30, .plan_search_seconds = 0, .plan_from_bytes = 0}, 4, 1);
}
TEST(PilotThreads, WhereMemoryIsShort) {
  run_threads({.limit_bytes = 60 << 20, .capacity_bytes = 2ull << 30, .plan_search_seconds = 0, .plan_from_bytes = 0},
              3, 3);
}

}  // namespace
}  // namespace tidemark::allocator
