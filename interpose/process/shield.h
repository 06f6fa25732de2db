// SPDX-License-Identifier: Apache-2.0
// The wall between the program and whatever goes wrong in here.
//
// shield(f) runs f unless this thread is already inside (a signal handler that interrupted us, a callback): then it
// does nothing and says so. What f throws ends the recording, not the program. errno is kept. It never encloses a call
// of the program's own: such a call may throw, be cancelled or jump away, and must find nothing of ours on its way.
#pragma once
#include <cxxabi.h>
#include <errno.h>

#include <atomic>

#include "interpose/process/stage.h"
#include "interpose/record/thread.h"

namespace tidemark::interpose {

// (A cancelled thread's unwinding is caught as an object that is nowhere: UBSan would take the reference for a
// mistake.)
template <class F>
__attribute__((no_sanitize("null"))) bool shield(F f) {
  Thread& thread = this_thread();
  if (thread.inside) return false;
  thread.inside = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  int const before = errno;
  try {
    f();
  } catch (const abi::__forced_unwind&) {
    thread.inside = false;
    throw;
  } catch (...) {
    go_passive("an error inside tidemark: recording has ended, the program goes on");
  }
  errno = before;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.inside = false;
  return true;
}

}  // namespace tidemark::interpose
