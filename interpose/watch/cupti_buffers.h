// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI fills with records: given out when it asks for one, taken back full, read by one thread of
// ours. They are memory of our own, and nothing but a lock is met on the way: CUPTI may ask from inside of any call.
//
// Any thread gives and takes; one reads. A request is not refused: versions before 12.9 did not survive that. When the
// reader cannot keep up, the oldest buffer that was not read yet is given out again, and its records are counted lost.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/spin_lock.h"

namespace tidemark::interpose {

class CuptiBuffers {
 public:
  static constexpr std::size_t kBytes = 256 << 10;
  static constexpr std::size_t kMost = 4096;  // one for each of a program's threads at least
  static constexpr std::size_t kMostFull = 256;

  constexpr CuptiBuffers() = default;

  // Null only when the system gives no memory.
  std::uint8_t* give();
  // How many wait to be read now. A buffer that is none of ours is left alone.
  std::size_t take_back(std::uint8_t* buffer, std::size_t filled_bytes);
  // Calls f(bytes) for each full one, the oldest first, until there is none.
  template <class F>
  void read(F f) {
    for (std::size_t i = next_full(); i < kMost; i = next_full()) {
      f(std::span(buffers_[i].data, buffers_[i].filled_bytes));
      put_by(i);
    }
  }
  // Bytes of records that nobody read.
  std::uint64_t lost_bytes();

 private:
  enum class State : std::uint8_t { Idle, Given, Full, Reading };
  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t filled_bytes = 0;
    State state = State::Idle;
  };
  std::size_t next_full();
  void put_by(std::size_t i);
  std::size_t pop_full();

  SpinLock lock_;
  std::array<Buffer, kMost> buffers_{};
  std::size_t made_ = 0;
  std::array<std::uint16_t, kMost> idle_{};  // a stack of numbers
  std::size_t idle_count_ = 0;
  std::array<std::uint16_t, kMost> full_{};  // a ring of numbers
  std::size_t full_begin_ = 0, full_count_ = 0;
  std::uint64_t lost_bytes_ = 0;
};

}  // namespace tidemark::interpose
