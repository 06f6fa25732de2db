// SPDX-License-Identifier: Apache-2.0
// Which launch a kernel came of. CUPTI tells the two apart from each other and in any order: the call with its
// correlation id and, if the thread had one, our own id for the scope that was open; and the kernel, with the same
// correlation id, once it has run.
//
// One thread. Memory is taken once, at the start. Calls are remembered until others, a quarter of a million later, take
// their places; kernels that come before their call wait a few rounds for it.
#pragma once
#include <array>
#include <cstdint>

#include "base/reserved.h"
#include "trace/format/words.h"

namespace tidemark::interpose {

// What a thread is about, in CUPTI's 64 bits.
struct LaunchScope {
  static constexpr std::uint32_t kStepMask = (std::uint32_t{1} << 28) - 1;
  std::uint32_t path = 0;
  trace::Phase phase = trace::Phase::Other;
  std::uint32_t step = 0;  // its lowest 28 bits

  constexpr std::uint64_t packed() const {
    return std::uint64_t{path} << 32 | std::uint64_t{step & kStepMask} << 4 | static_cast<std::uint64_t>(phase);
  }
  static constexpr LaunchScope unpacked(std::uint64_t id) {
    return {.path = static_cast<std::uint32_t>(id >> 32),
            .phase = static_cast<trace::Phase>(id & 15),
            .step = static_cast<std::uint32_t>(id >> 4) & kStepMask};
  }
  bool operator==(const LaunchScope&) const = default;
};

struct KernelRun {
  std::uint64_t start_ns = 0, end_ns = 0;  // CUPTI's clock
  std::uint32_t device = 0, stream = 0;
  std::uint32_t correlation = 0;
  std::uint32_t name = 0;  // String
};

class Launches {
 public:
  static constexpr std::size_t kRemembered = std::size_t{1} << 18;
  static constexpr std::size_t kWaiting = std::size_t{1} << 16;
  static constexpr std::uint32_t kRounds = 8;

  constexpr Launches() = default;
  // False when the system gives no memory.
  bool start();

  void scoped(std::uint32_t correlation, LaunchScope scope);
  void called(std::uint32_t correlation, bool of_graph);
  bool is_graph(std::uint32_t correlation) const;
  bool saw_graph() const { return saw_graph_; }

  // out(run, scope), now or in a later round. Null: the launch was not seen.
  template <class Out>
  void ran(const KernelRun& run, Out out) {
    if (Call const* const call = find(run.correlation)) {
      LaunchScope const scope = LaunchScope::unpacked(call->scope);
      out(run, &scope);
    } else if (waiting_count_ < kWaiting) {
      waiting_[waiting_count_++] = {run, 0};
    } else {
      out(run, nullptr);
    }
  }
  // Once everything that CUPTI had to say for now has been read. At the end nobody waits any longer.
  template <class Out>
  void end_round(bool last, Out out) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_count_; ++i) {
      Waiting w = waiting_[i];
      Call const* const call = find(w.run.correlation);
      if (call == nullptr && !last && ++w.rounds < kRounds) {
        waiting_[kept++] = w;
        continue;
      }
      LaunchScope const scope = LaunchScope::unpacked(call != nullptr ? call->scope : 0);
      out(w.run, call != nullptr ? &scope : nullptr);
    }
    waiting_count_ = kept;
  }

 private:
  struct Call {
    std::uint64_t scope;
    std::uint32_t correlation;  // 0: nobody's place
    bool of_graph;
  };
  struct Waiting {
    KernelRun run;
    std::uint32_t rounds;
  };
  Call& place(std::uint32_t correlation) const { return calls_[correlation % kRemembered]; }
  Call& meet(std::uint32_t correlation);
  const Call* find(std::uint32_t correlation) const;

  Call* calls_ = nullptr;
  Waiting* waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
  bool saw_graph_ = false;
};

// From CUPTI's clock to the trace's: pairs of both are taken now and then, and times between two pairs lie on the line
// through them. Clocks may be slewed or simulated. One thread.
class CuptiClock {
 public:
  constexpr CuptiClock() = default;
  // The rate until two pairs say better.
  void start(double ticks_per_ns) { ticks_per_ns_ = ticks_per_ns; }

  void add(std::uint64_t cupti_ns, std::uint64_t ticks);
  std::uint64_t ticks(std::uint64_t cupti_ns) const;

 private:
  struct Pair {
    std::uint64_t ns, ticks;
  };
  static constexpr std::size_t kPairs = 64;
  const Pair& newest(std::size_t age) const { return pairs_[(count_ - 1 - age) % kPairs]; }

  double ticks_per_ns_ = 1;
  std::array<Pair, kPairs> pairs_{};
  std::size_t count_ = 0;
};

}  // namespace tidemark::interpose
