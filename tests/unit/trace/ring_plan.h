// SPDX-License-Identifier: Apache-2.0
// Threads that always do the same, so that whoever finds their trace knows what must be in it.
#pragma once
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "tests/unit/trace/ring_program.h"
#include "trace/read/ordered.h"

namespace tidemark::trace {

// What a thread has done, and what one more operation would do.
struct Account {
  std::uint64_t allocations = 0, requested_bytes = 0;
  std::set<std::uint64_t> alive;
};

// The same operations every time: some allocations, some frees, in layers and steps of their own. Each thread has its
// own addresses and its own half of the layers' numbers.
class Plan {
 public:
  explicit Plan(std::uint32_t thread) : thread_(thread), random_(thread) {}

  struct Operation {
    bool free = false;
    std::uint64_t address = 0, size_bytes = 0;
    std::uint32_t path = 0;
  };
  Operation next() {
    std::uint64_t const r = random_();
    std::size_t const places = 64;
    std::uint64_t const place = r % places;
    Operation op{.address = (std::uint64_t{thread_} << 32) + ((place + 1) << 12), .path = path(r >> 32)};
    auto const [found, fresh] = account.alive.insert(op.address);
    if (fresh) {
      op.size_bytes = 1 + (r >> 8) % 10'000;
      ++account.allocations;
      account.requested_bytes += op.size_bytes;
    } else {
      op.free = true;
      account.alive.erase(found);
    }
    ++done;
    return op;
  }
  // Layers of a thread, so many that a chunk gives many sums.
  std::uint32_t path(std::uint64_t r) const { return thread_ * 1000 + static_cast<std::uint32_t>(r % 300); }

  Account account;
  std::uint64_t done = 0;

 private:
  std::uint32_t thread_;
  std::mt19937_64 random_;
};

// A model that tells when a checkpoint begins.
class Watched : public LiveBlocks {
 public:
  explicit Watched(std::atomic<std::uint64_t>& checkpoints) : checkpoints_(checkpoints) {}
  void list(CheckpointWriter& to) override {
    ++checkpoints_;
    std::scoped_lock const guard(lock_);
    for (auto const& [address, block] : blocks_) to.block(block.live());
  }
  std::uint64_t insert(ModelBlock block, const Clock& clock) {
    std::scoped_lock const guard(lock_);
    block.ticks = clock.now_ordered();
    blocks_[block.address] = block;
    return block.ticks;
  }
  std::uint64_t erase(std::uint64_t address, const Clock& clock) {
    std::scoped_lock const guard(lock_);
    blocks_.erase(address);
    return clock.now_ordered();
  }

 private:
  std::atomic<std::uint64_t>& checkpoints_;
  std::mutex lock_;
  std::map<std::uint64_t, ModelBlock> blocks_;
};

// A thread that carries its plan out.
class Performer {
 public:
  Performer(File& file, Watched& blocks, std::uint32_t thread) : plan(thread), file_(file), blocks_(blocks) {
    lane_.start(file, thread);
    counts_steps_ = thread == 1;
  }
  void act() {
    Plan::Operation const op = plan.next();
    if (op.path != path_) lane_.enter(path_ = op.path);
    if (counts_steps_ && plan.done % 500 == 0) {
      file_.ring()->step_begins(plan.done / 500, plan.done);
      lane_.step(plan.done / 500);
    }
    if (op.free)
      lane_.free_at({.address = op.address}, blocks_.erase(op.address, file_.clock()));
    else
      lane_.alloc_at(
          {.address = op.address, .size_bytes = op.size_bytes},
          blocks_.insert({.address = op.address, .size_bytes = op.size_bytes, .path = path_}, file_.clock()));
  }

  Plan plan;

 private:
  File& file_;
  Watched& blocks_;
  Lane lane_;
  std::uint32_t path_ = 0;
  bool counts_steps_ = false;
};

// What the trace says of a thread.
inline std::map<std::uint32_t, Account> read_accounts(const Trace& trace) {
  std::map<std::uint32_t, Account> accounts;
  for (Sum const& row : sum_up(trace).rows) {
    Account& a = accounts[static_cast<std::uint32_t>(row.path / 1000)];
    a.allocations += row.allocations;
    a.requested_bytes += row.requested_bytes;
  }
  std::map<std::uint64_t, std::uint64_t> address_of;
  Ordered ordered(trace);
  for (OrderedEvent o; ordered.next(o);) {
    bool const begins = o.event.type == Event::Type::Alloc || o.event.type == Event::Type::Live;
    if (begins) address_of[o.block] = o.event.address;
    if (o.event.type == Event::Type::Free) address_of.erase(o.block);
  }
  for (auto const& [block, address] : address_of)
    accounts[static_cast<std::uint32_t>(address >> 32)].alive.insert(address);
  EXPECT_EQ(ordered.oddities().total(), 0u);
  return accounts;
}

// Whether a trace has what a plan did, or that and the operation that was under way.
inline void expect_done(Plan plan, const Account& account) {
  Account const done = plan.account;
  plan.next();
  Account const& more = plan.account;
  auto const same = [&](const Account& a) {
    return account.allocations == a.allocations && account.requested_bytes == a.requested_bytes;
  };
  EXPECT_TRUE(same(done) || same(more)) << account.allocations << " allocations, not " << done.allocations;
  EXPECT_TRUE(account.alive == done.alive || account.alive == more.alive)
      << account.alive.size() << " alive, not " << done.alive.size();
}

}  // namespace tidemark::trace
