// SPDX-License-Identifier: Apache-2.0
// Holds a stream still until the test opens it: then "not done yet" is certain and not a matter of luck. At most one
// gate is closed at a time, since a driver may run all host functions on one thread.
#pragma once
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/conformance/support/device.h"

namespace conformance {

class Gate {
 public:
  explicit Gate(cudaStream_t stream) : stream_(stream) { EXPECT_OK(cudaLaunchHostFunc(stream, &Gate::wait, this)); }
  ~Gate() {
    open();
    EXPECT_OK(cudaStreamSynchronize(stream_));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { open_.store(true); }

 private:
  static void wait(void* self) {
    while (!static_cast<Gate*>(self)->open_.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  cudaStream_t stream_;
  std::atomic<bool> open_{false};
};

}  // namespace conformance
