// SPDX-License-Identifier: Apache-2.0
// Native call stacks as numbers in the trace: the calling thread's return addresses, found by following the unwinding
// tables, whose rules are kept once they are read (docs/decisions/0010-stacks.md).
//
// Any thread, through the shield; also in a signal handler, in a constructor during dlopen, on a stack that the program
// made itself. The way that is taken for every event has no lock, no system call and no allocation; a return address
// that is seen for the first time takes the lock here, never one of the dynamic linker. Code without tables ends a
// stack early, which is marked; nothing is read that the kernel has not said to be readable.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "base/spin_lock.h"
#include "interpose/stack/objects.h"
#include "interpose/stack/rules.h"
#include "interpose/stack/window.h"
#include "trace/write/dictionary.h"

namespace tidemark::interpose {

class Stacks {
 public:
  constexpr Stacks() = default;
  static constexpr std::size_t kMostFrames = 128;

  // What has to be asked of the dynamic linker, which may wait for whoever opens a library: before there is somebody
  // who waits for us. Any number of times, by any thread.
  static void prepare();
  // Once, before any other call but that. Frames of the object that holds `own` are left out: what lies between the
  // program and its call into CUDA is not the program's.
  Result<void> start(const trace::File& file, const void* own);
  bool on() const { return on_.load(std::memory_order_acquire); }

  // The number of the caller's stack; 0 when it could not be written.
  std::uint32_t here(trace::Dictionary& names);
  // A library is, or has just been, unloaded.
  void forget();

 private:
  struct Registers {
    std::uintptr_t pc, rsp, rbp;
  };
  struct Walk {
    std::uint64_t frames[kMostFrames];
    std::size_t count = 0;
    trace::StackEnd end = trace::StackEnd::Whole;
    // False when there is no place for one more.
    bool add(std::uint64_t address) {
      if (count == kMostFrames) {
        end = trace::StackEnd::Cut;
        return false;
      }
      frames[count++] = address;
      return true;
    }
  };
  enum class Step { Taken, Broken, Complex, Done };

  // False when a frame needs more than two registers.
  bool walk(Registers at, Walk& out, trace::Dictionary& names);
  static Step step(Rule rule, Registers& at, Window& window);
  static Step step_over_signal(Registers& at, Window& window);
  void walk_by_compiler(Walk& out, trace::Dictionary& names);
  Rule learn(std::uint64_t address, std::uint64_t generation, trace::Dictionary& names);
  Rule rule_at(std::uint64_t address, std::uint64_t generation, trace::Dictionary& names) {
    Rule const known = rules_.find(address, generation);
    return known.kind() != Rule::Absent ? known : learn(address, generation, names);
  }

  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<std::uint32_t> replaced_{0};
  int (*find_object_)(void*, dl_find_object*) = nullptr;
  std::uintptr_t own_begin_ = 0, own_end_ = 0;
  const trace::File* file_ = nullptr;
  Rules rules_;
  SpinLock learning_;  // guards what follows
  Objects objects_;
};

Stacks& stacks();

}  // namespace tidemark::interpose
