// SPDX-License-Identifier: Apache-2.0
// A program that records into a ring may be killed between any two of its instructions: the trace has every event up to
// then, in its sums and in what is alive.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/trace/ring_plan.h"

namespace tidemark::trace {
namespace {

constexpr std::uint64_t kRing = 1 << 20;
constexpr std::size_t kMostThreads = 4;

struct Shared {
  std::atomic<std::uint64_t> done[kMostThreads + 1];
  std::atomic<std::uint64_t> checkpoints;
};

Shared& shared_memory() {
  void* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (at) Shared{};
}

void perform(File& file, Watched& blocks, Shared& shared, std::uint32_t thread) {
  for (Performer performer(file, blocks, thread);;) {
    performer.act();
    shared.done[thread].store(performer.plan.done, std::memory_order_release);
  }
}

void check(const Trace& trace, const Shared& shared, std::uint32_t threads) {
  auto const accounts = read_accounts(trace);
  for (std::uint32_t t = 1; t <= threads; ++t) {
    Plan plan(t);
    while (plan.done < shared.done[t]) plan.next();
    expect_done(plan, accounts.contains(t) ? accounts.at(t) : Account{});
  }
}

pid_t start_program(const std::string& path, Shared& shared, std::uint32_t threads) {
  pid_t const child = fork();
  if (child != 0) return child;
  auto* const blocks = new Watched(shared.checkpoints);
  File& file = make_ring(path, kRing, *blocks);
  for (std::uint32_t t = 2; t <= threads; ++t) std::thread([&, t] { perform(file, *blocks, shared, t); }).detach();
  perform(file, *blocks, shared, 1);
  _exit(0);
}

TEST(RingKill, AProgramMayBeKilledAtAnyTime) {
  std::mt19937_64 random(1);
  for (std::uint32_t round = 0; round < 24 && !testing::Test::HasFailure(); ++round) {
    Folder const folder;
    std::uint32_t const threads = round % kMostThreads + 1;
    Shared& shared = shared_memory();
    pid_t const child = start_program(folder.file("a.tide"), shared, threads);
    while (shared.checkpoints < 6) usleep(100);
    usleep(static_cast<useconds_t>(random() % 20'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Trace const trace = read_back(folder.file("a.tide"));
    EXPECT_NE(trace.past().base(), nullptr);
    check(trace, shared, threads);
  }
}

}  // namespace
}  // namespace tidemark::trace
