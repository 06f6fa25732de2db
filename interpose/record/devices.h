// SPDX-License-Identifier: Apache-2.0
// What the driver says of each device: facts once, and the bytes in use after every call that may have changed them.
//
// What a program's blocks have taken is not asked block by block but as a whole: in use, less what was in use before
// the first block. So it is right whatever granules the driver works in and however many threads allocate at once. Any
// thread, through the shield. Asking costs some hundred nanoseconds on the software device and may cost far more on a
// card: where it does, it is done less often, so that it takes at most a twentieth of the time, and the trace says so.
// A driver may wait where a thread can be cancelled, but it was not the program that asked: whoever asks cannot be.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"

namespace tidemark::interpose {

// Where a call of this thread takes effect.
struct Place {
  std::uint64_t context = 0;  // 0: none is current
  std::uint8_t device = 0;
};
Place current_place();

class Devices {
 public:
  constexpr Devices() = default;
  static constexpr std::size_t kMost = 64;

  // Before a device's first block. Whoever comes meanwhile waits: a block that is made before it is known what was in
  // use without it would be taken for part of that.
  void meet(std::uint8_t device);
  // After a call that changed what is in use on a device.
  void sample(std::uint8_t device);
  void sample_current(std::uint8_t device);  // where it is known to be the current one
  // After a call that waited for work, or moved managed memory: pools give back what is free, on whatever device. False
  // where there is no such memory, and nothing was done.
  bool sample_moved() {
    bool const moves = moves_.load(std::memory_order_relaxed);
    if (moves) sample_all();
    return moves;
  }
  void sample_all();
  // There is memory of a pool, or managed memory: from here on those calls matter.
  void expect_moves() { moves_.store(true, std::memory_order_relaxed); }
  // The same, at once and whatever it costs: what this process has taken there by now. Where the driver cannot be asked
  // (no context of the device is alive), what is known.
  std::uint64_t measure(std::uint8_t device);
  // Around a call that takes memory which is not the program's: a module, a limit.
  void begin_overhead(std::uint8_t device);
  // The bytes it took (modulo 2^64: a call may also give back); 0 for a device without blocks so far.
  std::uint64_t end_overhead(std::uint8_t device);
  // Overhead that is gone again: a context has ended.
  void give_back(std::uint8_t device, std::uint64_t overhead_bytes);
  // The last context of a device has ended, and nearly everything with it. Its next block begins anew.
  void forget(std::uint8_t device);
  bool known(std::uint8_t device) const { return state(device).met.load(std::memory_order_acquire); }

  // Live blocks, as the recorder counts them.
  void count_live(std::uint8_t device, std::uint64_t by) {
    state(device).live_bytes.fetch_add(by, std::memory_order_relaxed);
  }
  std::uint64_t live_bytes(std::uint8_t device) const { return get(state(device).live_bytes); }
  // What the device has given for the program's blocks, as last seen.
  std::uint64_t reserved_bytes(std::uint8_t device) const { return get(state(device).reserved_bytes); }
  // What this process takes beside its blocks: its context and its modules.
  std::uint64_t overhead_bytes(std::uint8_t device) const { return get(state(device).overhead_bytes); }
  // All of it, as last seen.
  std::uint64_t taken_bytes(std::uint8_t device) const { return overhead_bytes(device) + reserved_bytes(device); }
  std::uint64_t total_bytes(std::uint8_t device) const { return get(state(device).total_bytes); }

 private:
  struct State {
    std::atomic<bool> met{false};
    std::atomic<bool> stale{false};  // something has changed since it was asked last
    SpinLock asking;                 // one at a time, so that a later answer is never lost to an earlier one
    std::atomic<std::uint64_t> baseline_bytes{0};  // in use, and not by the program's blocks
    std::atomic<std::uint64_t> overhead_bytes{0};  // of that, this process's
    std::atomic<std::uint64_t> others_bytes{0};    // the rest, when the last context ended
    std::atomic<std::uint64_t> reserved_bytes{0};  // as last seen
    std::atomic<std::uint64_t> live_bytes{0};
    std::atomic<std::uint64_t> total_bytes{0};
  };
  static std::uint64_t get(const std::atomic<std::uint64_t>& value) { return value.load(std::memory_order_relaxed); }
  State& state(std::uint8_t device) { return states_[device % kMost]; }
  const State& state(std::uint8_t device) const { return states_[device % kMost]; }
  struct Use {
    std::uint64_t used_bytes = 0, total_bytes = 0;
    bool ok = false;
  };
  Use ask(std::uint8_t device);
  Use ask_current();
  template <class Ask>
  void catch_up(std::uint8_t device, Ask ask);
  void note_cost(std::uint64_t begin_ticks, std::uint64_t end_ticks);
  std::uint64_t outliving_bytes(std::uint8_t device) const;
  void seen(std::uint8_t device, const Use& use);
  void set_reserved(std::uint8_t device, std::uint64_t bytes, const Use& use);
  void infer(std::uint8_t device);
  bool too_soon();
  void write_facts(std::uint8_t device, const Use& use);

  std::array<State, kMost> states_;
  std::atomic<bool> moves_{false};
  std::atomic<std::uint64_t> cost_ticks_{0};  // of asking, as it usually is
  std::atomic<std::uint64_t> next_ticks_{0};  // not before, where asking is dear
  std::atomic<bool> thinned_{false};
};

Devices& devices();

}  // namespace tidemark::interpose
