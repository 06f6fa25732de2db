// SPDX-License-Identifier: Apache-2.0
// What the sanitizers must be told about stacks that we make and switch ourselves. Empty in an ordinary build.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SOFTGPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTGPU_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SOFTGPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOFTGPU_TSAN 1
#endif
#endif

#if SOFTGPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if SOFTGPU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tidemark::softgpu {

#if SOFTGPU_ASAN || SOFTGPU_TSAN
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct SanitizerStack {
  const void* low = nullptr;
  std::size_t size_bytes = 0;
  void* fake_stack = nullptr;
  void* tsan_fiber = nullptr;

  // Before the first switch to a new (or abandoned and renewed) stack.
  void begin([[maybe_unused]] const void* stack_low, [[maybe_unused]] std::size_t stack_bytes) {
#if SOFTGPU_ASAN
    low = stack_low;
    size_bytes = stack_bytes;
    __asan_unpoison_memory_region(stack_low, stack_bytes);
#elif SOFTGPU_TSAN
    end();
    tsan_fiber = __tsan_create_fiber(0);
#endif
  }
  void end() {
#if SOFTGPU_TSAN
    if (tsan_fiber) __tsan_destroy_fiber(tsan_fiber);
    tsan_fiber = nullptr;
#endif
  }
  // The OS thread's own stack; its bounds are learnt at the first switch away from it.
  void adopt_thread() {
#if SOFTGPU_TSAN
    tsan_fiber = __tsan_get_current_fiber();
#endif
  }
};

// Around a switch: leave() on the old stack, arrive() on the new one with what was left. An abandoned stack is never
// continued, so its fake frames are given up.
inline void sanitizer_leave([[maybe_unused]] SanitizerStack& from, [[maybe_unused]] SanitizerStack& to,
                            [[maybe_unused]] bool abandon) {
#if SOFTGPU_ASAN
  __sanitizer_start_switch_fiber(abandon ? nullptr : &from.fake_stack, to.low, to.size_bytes);
#elif SOFTGPU_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}
inline void sanitizer_arrive([[maybe_unused]] SanitizerStack& self, [[maybe_unused]] SanitizerStack& from) {
#if SOFTGPU_ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.low, &from.size_bytes);
#endif
}

// Bytes past the end of dynamic shared memory.
inline void sanitizer_poison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#if SOFTGPU_ASAN
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void sanitizer_unpoison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#if SOFTGPU_ASAN
  __asan_unpoison_memory_region(at, bytes);
#endif
}

}  // namespace tidemark::softgpu
