// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_buffers.h"

#include <algorithm>
#include <mutex>

#include "base/reserved.h"

namespace tidemark::interpose {

// With the lock held, and only when there is one.
std::size_t CuptiBuffers::pop_full() {
  std::size_t const i = full_[full_begin_ % kMost];
  ++full_begin_;
  --full_count_;
  return i;
}

std::uint8_t* CuptiBuffers::give() {
  std::scoped_lock const guard(lock_);
  std::size_t i = kMost;
  if (full_count_ >= kMostFull || (idle_count_ == 0 && made_ == kMost && full_count_ > 0)) {
    i = pop_full();
    lost_bytes_ += buffers_[i].filled_bytes;
  } else if (idle_count_ > 0) {
    i = idle_[--idle_count_];
  } else if (made_ < kMost) {
    std::byte* const fresh = Reserved::map(kBytes).release();
    if (fresh == nullptr) return nullptr;
    i = made_++;
    buffers_[i].data = reinterpret_cast<std::uint8_t*>(fresh);
  } else {
    return nullptr;
  }
  buffers_[i].state = State::Given;
  return buffers_[i].data;
}

std::size_t CuptiBuffers::take_back(std::uint8_t* buffer, std::size_t filled_bytes) {
  std::scoped_lock const guard(lock_);
  for (std::size_t i = 0; i < made_; ++i) {
    Buffer& b = buffers_[i];
    if (b.data != buffer || b.state != State::Given) continue;
    b.filled_bytes = std::min(filled_bytes, kBytes);
    b.state = State::Full;
    full_[(full_begin_ + full_count_++) % kMost] = static_cast<std::uint16_t>(i);
    break;
  }
  return full_count_;
}

std::uint64_t CuptiBuffers::lost_bytes() {
  std::scoped_lock const guard(lock_);
  return lost_bytes_;
}

std::size_t CuptiBuffers::next_full() {
  std::scoped_lock const guard(lock_);
  if (full_count_ == 0) return kMost;
  std::size_t const i = pop_full();
  buffers_[i].state = State::Reading;
  return i;
}

void CuptiBuffers::put_by(std::size_t i) {
  std::scoped_lock const guard(lock_);
  buffers_[i].state = State::Idle;
  idle_[idle_count_++] = static_cast<std::uint16_t>(i);
}

}  // namespace tidemark::interpose
