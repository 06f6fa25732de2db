// SPDX-License-Identifier: Apache-2.0
// A library that the program opens; FRAME bytes of locals make two builds of it different.
#include <cstring>

namespace {

template <class F>
[[gnu::noinline]] void through_template(F call) {
  char locals[FRAME];
  std::memset(locals, 1, sizeof locals);
  asm volatile("" ::"r"(locals) : "memory");
  call();
  asm volatile("" ::"r"(locals) : "memory");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void plugin_layer(void (*call)()) {
  through_template(call);
  asm volatile("" ::: "memory");
}
