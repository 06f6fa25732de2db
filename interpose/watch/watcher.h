// SPDX-License-Identifier: Apache-2.0
// Threads of our own in the program's process. No signal of the program's is handled on them, and they do not keep a
// process that the program's own threads have left.
//
// A watcher looks at program_has_left() from time to time and then comes to its end; the last one's ends the process,
// as the last thread's does anywhere.
#pragma once
#include <atomic>
#include <cstdint>

namespace tidemark::interpose {

// Said once, to whoever waits for it.
class Notice {
 public:
  void give();
  bool is_given() const { return word_.load(std::memory_order_acquire) != 0; }
  // Returns at the latest after this time.
  void wait_for(std::uint64_t ns);

 private:
  std::atomic<std::uint32_t> word_{0};
};

// False when the system gives no thread.
bool start_watcher(void (*body)());
// Whether none of the program's threads is left.
bool program_has_left();

}  // namespace tidemark::interpose
