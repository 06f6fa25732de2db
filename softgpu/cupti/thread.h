// SPDX-License-Identifier: Apache-2.0
// What is kept per thread: the call under way, external correlation ids, resources whose creation has to be told.
#pragma once
#include <array>
#include <vector>

#include "softgpu/cupti/api.h"
#include "softgpu/interface/observe.h"

namespace tidemark::softgpu::cupti {

struct Thread {
  unsigned quiet = 0;             // inside of a client's callback, or of a call that this library makes itself
  SoftgpuCall* call = nullptr;    // the innermost observed call
  unsigned depth = 0;             // how many are under way
  std::uint32_t correlation = 0;  // of the outermost one and all inside it
  bool external_written = false;  // for this correlation id
  bool is_runtime = false;        // the outermost call is the runtime's
  const void* caller = nullptr;   // of the outermost
  const char* source = nullptr;   // the file that this address is in, if somebody asked for it
  std::array<std::vector<std::uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> external;
  std::vector<SoftgpuResourceEvent> created;
};

// The calling thread's. Survives thread-local destructors: a program may call CUDA from them.
Thread& thread_state();

// Calls into CUDA made in this scope are not the program's: no callbacks, no API records.
class Quiet {
 public:
  Quiet() : thread_(thread_state()) { ++thread_.quiet; }
  ~Quiet() { --thread_.quiet; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  Thread& thread_;
};

}  // namespace tidemark::softgpu::cupti
