// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/runtime.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "softgpu/kernel/engine/engine.h"
#include "softgpu/kernel/engine/report.h"

namespace tidemark::softgpu {

bool inside_kernel() {
  return thread_state()->engine && thread_state()->engine->running();
}

std::uint32_t warp_active_mask(const void* place) {
  return thread_state()->engine->active_mask(place);
}
bool launched_cooperatively() {
  return thread_state()->engine->cooperative();
}
void yield_thread() {
  thread_state()->engine->yield();
}
unsigned lane_index() {
  return thread_state()->engine->lane();
}
void* dynamic_shared() {
  return thread_state()->engine->shared().dynamic();
}
unsigned dynamic_shared_bytes() {
  return static_cast<unsigned>(thread_state()->engine->shared().dynamic_bytes());
}

void trap(SoftgpuKernelStatus status, const char* what) {
  thread_state()->engine->fail(status, what);
}

void assert_failed(const char* expression, const char* file, unsigned line, const char* function) {
  thread_state()->engine->fail(SOFTGPU_KERNEL_ASSERT, std::string(file) + ":" + std::to_string(line) + ": " + function +
                                                          ": Assertion `" + expression + "` failed.");
}

}  // namespace tidemark::softgpu

// assert() in a kernel body calls this, whichever header it came from and whenever that was included; so does nvcc's.
// In host code of the same library the C library's own is meant.
extern "C" [[noreturn, gnu::visibility("hidden")]] void __assert_fail(const char* expression, const char* file,
                                                                      unsigned line, const char* function) noexcept {
  if (tidemark::softgpu::inside_kernel()) tidemark::softgpu::assert_failed(expression, file, line, function);
  using AssertFail = void (*)(const char*, const char*, unsigned, const char*);
  if (auto const real = reinterpret_cast<AssertFail>(dlsym(RTLD_NEXT, "__assert_fail")))
    real(expression, file, line, function);
  std::abort();
}
