// SPDX-License-Identifier: Apache-2.0
// A stand-in for softgpu's libcuda.so.1 with which the libraries above it are tested alone. Work runs at once, or waits
// until its stream is synchronized; what was queued is recorded. Single-threaded.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/interface/softgpu.h"

namespace fake {

struct Queued {
  std::string name;
  void* stream;
  std::vector<SoftgpuTouch> touches;
};

struct State {
  bool dry_run = false;
  bool deferred = false;
  int submit_result = 0;       // given back by softgpu_submit instead of queueing, when not 0
  std::vector<Queued> queued;  // in order, since the last reset
  int runs = 0;                // bodies that ran
  int device_count = 2;
  std::uint64_t total_bytes = 16ull << 30, used_bytes = 5ull << 20;
  std::vector<SoftgpuProcessInfo> processes;
};

__attribute__((visibility("default"))) State& state();
__attribute__((visibility("default"))) void run_pending();

// Fresh at the beginning and the end of a test.
struct Scope {
  Scope() { state() = {}; }
  ~Scope() {
    run_pending();
    state() = {};
  }
};

}  // namespace fake
