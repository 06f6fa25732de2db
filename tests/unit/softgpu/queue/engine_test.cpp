// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/unit/softgpu/queue/fixture.h"

namespace tidemark::softgpu {
namespace {

using Names = std::vector<std::string>;

TEST(Engine, EagerRunsInTheSubmittingCall) {
  Bench b(with_schedule(Schedule::Eager));
  Stream& s = b.stream();
  Lock lock = b.lock();
  auto const ticket = b.run(lock, s, "a");
  EXPECT_TRUE(b.engine->done(*ticket));
  EXPECT_EQ(b.order, Names{"a"});
}

TEST(Engine, LateRunsNothingUntilSomebodyWaits) {
  Bench b(with_schedule(Schedule::Late));
  Stream& s = b.stream();
  Lock lock = b.lock();
  auto const a = b.run(lock, s, "a"), c = b.run(lock, s, "b");
  EXPECT_TRUE(b.order.empty());
  b.engine->wait(lock, a);
  EXPECT_EQ(b.order, Names{"a"}) << "only what the wait needs";
  b.engine->wait(lock, c);
  EXPECT_EQ(b.order, (Names{"a", "b"}));
}

TEST(Engine, LateFollowsWaitsAcrossStreams) {
  Bench b(with_schedule(Schedule::Late));
  Stream &s = b.stream(false), &t = b.stream(false), &u = b.stream(false);
  Lock lock = b.lock();
  auto const first = b.run(lock, s, "first");
  auto const second = b.run(lock, t, "second", {first});
  b.run(lock, u, "unrelated");
  auto const third = b.run(lock, u, "third", {second});
  b.engine->wait(lock, third);
  EXPECT_EQ(b.order, (Names{"unrelated", "first", "second", "third"}));
}

TEST(Engine, LateAQueryMovesOnSoThatALoopOfQuestionsEnds) {
  Bench b(with_schedule(Schedule::Late));
  Stream& s = b.stream();
  Lock lock = b.lock();
  for (int i = 0; i < 5; ++i) b.run(lock, s, "x");
  int questions = 0;
  while (!b.engine->query(lock, s.last)) ASSERT_LT(++questions, 100);
  EXPECT_GT(questions, 0) << "nothing had run when the first question came";
  EXPECT_EQ(b.order.size(), 5u);
}

TEST(Engine, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Bench b(with_schedule(Schedule::Random, seed));
    Stream &s = b.stream(true), &n = b.stream(false);
    Lock lock = b.lock();
    b.run(lock, s, "before");
    b.run(lock, n, "free");
    b.run(lock, b.legacy, "legacy");
    b.run(lock, s, "after");
    b.engine->wait_group(lock, b.group);
    auto const at = [&](const char* name) { return std::find(b.order.begin(), b.order.end(), name); };
    EXPECT_LT(at("before"), at("legacy"));
    EXPECT_LT(at("legacy"), at("after"));
  }
}

Names random_run(std::uint64_t seed) {
  Bench b(with_schedule(Schedule::Random, seed));
  std::vector<Stream*> s;
  for (int i = 0; i < 4; ++i) s.push_back(&b.stream(false));
  Lock lock = b.lock();
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
  Ref<Ticket> last;
  for (int i = 0; i < 12; ++i) {
    std::vector<Ref<Ticket>> waits;
    if (i % 5 == 4) waits.push_back(last);
    last = b.run(lock, *s[static_cast<std::size_t>(i % 4)], kNames[i], waits);
  }
  b.engine->wait_group(lock, b.group);
  return b.order;
}

TEST(Engine, TheSameSeedGivesTheSameOrderAndOthersDiffer) {
  std::set<Names> orders;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(random_run(seed), random_run(seed));
    orders.insert(random_run(seed));
  }
  EXPECT_GT(orders.size(), 20u);
}

TEST(Engine, RandomOrderKeepsEachStreamsOwnOrder) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    auto const order = random_run(seed);
    auto const at = [&](const char* name) { return std::find(order.begin(), order.end(), name); };
    EXPECT_LT(at("a"), at("e"));
    EXPECT_LT(at("e"), at("i"));
    EXPECT_LT(at("d"), at("e")) << "e waits for d, on another stream";
  }
}

TEST(Engine, AnErrorIsKeptAndWhatIsQueuedBehindItNeverRuns) {
  Bench b(with_schedule(Schedule::Late));
  Stream& s = b.stream();
  Lock lock = b.lock();
  Item bad;
  bad.kind = ItemKind::Kernel;
  bad.run = [] { return 719; };
  b.engine->submit(lock, s, std::move(bad));
  b.run(lock, s, "after");
  b.engine->wait_group(lock, b.group);
  EXPECT_EQ(b.group.error, 719);
  EXPECT_TRUE(b.order.empty());
}

TEST(Engine, AHostFunctionMayWaitForTheProgram) {
  for (auto const schedule : {Schedule::Eager, Schedule::Late, Schedule::Random}) {
    Bench b(with_schedule(schedule, 3));
    Stream& s = b.stream();
    std::atomic<bool> gate{false}, ran{false};
    Ref<Ticket> after;
    {
      Lock lock = b.lock();
      Item item;
      item.kind = ItemKind::Host;
      item.run = [&] {
        while (!gate) std::this_thread::yield();
        ran = true;
        return 0;
      };
      b.engine->submit(lock, s, std::move(item));
      after = b.run(lock, s, "after");
      EXPECT_FALSE(ran);
      EXPECT_TRUE(b.order.empty());
    }
    gate = true;
    Lock lock = b.lock();
    b.engine->wait(lock, after);
    EXPECT_TRUE(ran);
    EXPECT_EQ(b.order, Names{"after"});
  }
}

TEST(Engine, AConditionInMemoryHoldsTheStreamUntilItIsTrue) {
  Bench b(with_schedule(Schedule::Eager));
  Stream& s = b.stream();
  std::atomic<bool> open{false};
  Lock lock = b.lock();
  Item item;
  item.ready = [&] { return open.load(); };
  b.engine->submit(lock, s, std::move(item));
  auto const after = b.run(lock, s, "after");
  EXPECT_FALSE(after->executed);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open = true;
  });
  b.engine->wait(lock, after);
  opener.join();
  EXPECT_EQ(b.order, Names{"after"});
}

TEST(Engine, AFaultEndsTheWaitForAConditionInMemory) {
  for (Schedule const schedule : {Schedule::Eager, Schedule::Late, Schedule::Random}) {
    Bench b(with_schedule(schedule));
    Stream &s = b.stream(false), &t = b.stream(false);
    Lock lock = b.lock();
    Item never;
    never.ready = [] { return false; };
    auto const held = b.engine->submit(lock, s, std::move(never));
    Item fault;
    fault.run_locked = true;
    fault.run = [] { return 700; };
    b.engine->wait(lock, b.engine->submit(lock, t, std::move(fault)));
    b.engine->wait(lock, held);
    EXPECT_EQ(b.group.error, 700);
  }
}

TEST(Engine, LateFindsWhatIsNeededInADenseWebOfWaits) {
  // Each stream waits for the two before it: looking at a stream once for every way to it would never end.
  Bench b(with_schedule(Schedule::Late));
  Lock lock = b.lock();
  bool open = false;
  std::vector<Ref<Ticket>> tickets;
  for (int i = 0; i < 90; ++i) {
    std::vector<Ref<Ticket>> waits;
    for (std::size_t back = 1; back <= 2 && back <= tickets.size(); ++back)
      waits.push_back(tickets[tickets.size() - back]);
    Item item;
    item.waits = std::move(waits);
    if (i == 0) item.ready = [&] { return open; };
    tickets.push_back(b.engine->submit(lock, b.stream(false), std::move(item)));
  }
  EXPECT_FALSE(b.engine->query(lock, tickets.back()));
  open = true;
  b.engine->wait(lock, tickets.back());
  EXPECT_TRUE(tickets.front()->executed);
}

TEST(Engine, TheSimulatedClockGivesExactTimes) {
  Config c = with_schedule(Schedule::Eager);
  c.clock = ClockKind::Simulated;
  c.kernel_time_set = true;
  c.kernel_ns = 100'000;
  Bench b(c);
  Stream &s = b.stream(false), &t = b.stream(false);
  Lock lock = b.lock();
  auto const a = b.run(lock, s, "a"), second = b.run(lock, s, "b"), other = b.run(lock, t, "c");
  auto const join = b.run(lock, t, "d", {second});
  EXPECT_EQ(a->start, 0u);
  EXPECT_EQ(a->finish, 100'000u);
  EXPECT_EQ(second->finish, 200'000u);
  EXPECT_EQ(other->finish, 100'000u) << "streams overlap";
  EXPECT_EQ(join->start, 200'000u);
  EXPECT_FALSE(b.engine->done(*join)) << "executed, but the device's time has not come";
  b.engine->wait(lock, join);
  EXPECT_TRUE(b.engine->done(*join));
  EXPECT_EQ(b.engine->clock().now(), 300'000u);
}

TEST(Engine, AKernelsTimePassesOnTheDeviceNotInTheCall) {
  Config c = with_schedule(Schedule::Eager);
  c.kernel_time_set = true;
  c.kernel_ns = 20'000'000;
  Bench b(c);
  Stream& s = b.stream();
  Lock lock = b.lock();
  Nanos const begin = monotonic_ns();
  auto const ticket = b.run(lock, s, "a");
  EXPECT_FALSE(b.engine->done(*ticket));
  b.engine->wait(lock, ticket);
  EXPECT_GE(monotonic_ns() - begin, 20'000'000u);
}

TEST(Engine, OrderIsKnownThroughWaitsOfWaits) {
  Bench b(with_schedule(Schedule::Late));
  Stream &s = b.stream(false), &t = b.stream(false), &u = b.stream(false);
  Lock lock = b.lock();
  auto const a = b.run(lock, s, "a");
  EXPECT_FALSE(Engine::ordered_before(*a, u));
  auto const c = b.run(lock, t, "b", {a});
  b.run(lock, u, "c", {c});
  EXPECT_TRUE(Engine::ordered_before(*a, u));
  EXPECT_TRUE(Engine::ordered_before(*a, s));
  auto const later = b.run(lock, s, "d");
  EXPECT_FALSE(Engine::ordered_before(*later, u)) << "queued after the event that u waited for";
}

// A program that makes a stream per step for days must not pay for all of them at each wait.
TEST(Engine, StreamsThatAreGoneAreForgotten) {
  Bench b(with_schedule(Schedule::Eager));
  Stream &s = b.stream(false), &u = b.stream(false);
  Lock lock = b.lock();
  for (int i = 0; i < 50; ++i) {
    Stream& passing = b.stream(false);
    b.run(lock, s, "a", {b.run(lock, passing, "b")});
    b.engine->forget(passing);
  }
  EXPECT_LE(s.knowledge->size(), 1u);
  auto const last = b.run(lock, s, "c");
  b.run(lock, u, "d", {last});
  EXPECT_TRUE(Engine::ordered_before(*last, u));
  EXPECT_LE(u.knowledge->size(), 1u);
}

TEST(Engine, ALongQueueMovesByItself) {
  Bench b(with_schedule(Schedule::Late));
  Stream& s = b.stream();
  Lock lock = b.lock();
  for (int i = 0; i < 3000; ++i) b.run(lock, s, "x");
  EXPECT_GE(b.order.size(), 1900u);
  EXPECT_LE(s.pending.size(), 1024u);
}

TEST(Engine, ManyThreadsOnManyStreamsLoseNothing) {
  for (auto const schedule : {Schedule::Eager, Schedule::Late, Schedule::Random}) {
    Bench b(with_schedule(schedule, 11));
    std::vector<Stream*> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(&b.stream(i % 2 == 0));
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          Lock lock = b.lock();
          Stream& s = i % 10 == 0 ? b.legacy : *streams[static_cast<std::size_t>((t + i) % 4)];
          Item item;
          item.kind = ItemKind::Kernel;
          item.run = [&] {
            ++ran;
            return 0;
          };
          auto const ticket = b.engine->submit(lock, s, std::move(item));
          if (i % 7 == 0) b.engine->wait(lock, ticket);
        }
      });
    for (auto& t : threads) t.join();
    Lock lock = b.lock();
    b.engine->wait_group(lock, b.group);
    EXPECT_EQ(ran, 1600);
    EXPECT_EQ(b.engine->pending_items(), 0u);
  }
}

}  // namespace
}  // namespace tidemark::softgpu
