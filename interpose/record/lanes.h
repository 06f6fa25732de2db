// SPDX-License-Identifier: Apache-2.0
// Hands every thread its lane into the trace, and an ended thread's lane to the next one: a program that makes a
// million short threads uses as many chunks as ran at once.
//
// Any thread. A lane is given back by a key of the thread library, whose destructors run after those of thread_local
// objects; an event that comes still later takes a lane again, and that one is given back in the next round or kept.
#pragma once
#include <pthread.h>

#include <cstdint>

#include "base/spin_lock.h"
#include "trace/write/lane.h"

namespace tidemark::interpose {

class Lanes {
 public:
  constexpr Lanes() = default;
  // Once, before any other call.
  bool start(trace::File& file);
  // The calling thread's lane; null when there is no memory or no place for one more.
  trace::Lane* mine();
  // Gives the calling thread's lane back.
  void give_back();

 private:
  static constexpr std::size_t kMost = 1 << 16;
  trace::Lane* take();

  trace::File* file_ = nullptr;
  pthread_key_t key_ = 0;
  bool has_key_ = false;
  SpinLock lock_;
  trace::Lane* lanes_ = nullptr;
  std::uint32_t* idle_ = nullptr;  // a stack of numbers of lanes
  std::size_t idle_count_ = 0;
  std::size_t made_ = 0;
  std::uint32_t threads_ = 0;
};

}  // namespace tidemark::interpose
