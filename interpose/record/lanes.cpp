// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/lanes.h"

#include <mutex>
#include <new>

#include "base/reserved.h"
#include "interpose/process/shield.h"
#include "interpose/record/thread.h"

namespace tidemark::interpose {

bool Lanes::start(trace::File& file) {
  file_ = &file;
  lanes_ = reinterpret_cast<trace::Lane*>(Reserved::map(kMost * sizeof(trace::Lane)).release());
  idle_ = reinterpret_cast<std::uint32_t*>(Reserved::map(kMost * sizeof(std::uint32_t)).release());
  if (lanes_ == nullptr || idle_ == nullptr) return false;
  // Without a key (a program may use them all up) lanes of ended threads stay where they are.
  has_key_ = pthread_key_create(&key_, [](void* self) {
               // In a forked child the trace belongs to its parent. A signal may still come in between.
               if (recording()) shield([&] { static_cast<Lanes*>(self)->give_back(); });
             }) == 0;
  return true;
}

trace::Lane* Lanes::mine() {
  Thread& thread = this_thread();
  if (thread.lane == nullptr) {
    thread.lane = take();
    if (thread.lane != nullptr && has_key_) pthread_setspecific(key_, this);
  }
  return thread.lane;
}

trace::Lane* Lanes::take() {
  trace::Lane* lane = nullptr;
  std::uint32_t number = 0;
  {
    std::scoped_lock const guard(lock_);
    number = ++threads_;
    if (idle_count_ > 0) {
      lane = &lanes_[idle_[--idle_count_]];
    } else if (made_ < kMost) {
      lane = new (&lanes_[made_++]) trace::Lane;
    }
  }
  if (lane != nullptr) lane->start(*file_, number);
  return lane;
}

void Lanes::give_back() {
  trace::Lane*& lane = this_thread().lane;
  if (lane == nullptr) return;
  std::scoped_lock const guard(lock_);
  idle_[idle_count_++] = static_cast<std::uint32_t>(lane - lanes_);
  lane = nullptr;
}

}  // namespace tidemark::interpose
