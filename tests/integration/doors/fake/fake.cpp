// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/doors/fake/fake.h"

#include <dlfcn.h>

#include <cstring>
#include <iterator>
#include <utility>

namespace {

constexpr const char* kNames[] = {
#define FAKE_NAME(symbol) #symbol,
#define FAKE_PROC(plain, version, symbol, twin)
#include FAKE_ROWS
#undef FAKE_NAME
#undef FAKE_PROC
};

thread_local FakeCall last_call;
thread_local int call_count = 0;

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void* fake_overrides[std::size(kNames)]{};
}

extern "C" __attribute__((visibility("hidden"))) void fake_noted(uint64_t number, const uint64_t* words,
                                                                 const uint64_t* stack) {
  last_call.symbol = kNames[number / 2];
  last_call.handed_out = static_cast<int>(number % 2);
  std::memcpy(&last_call.integer, words, 24 * sizeof(uint64_t));  // registers, rax, r10, vectors
  std::memcpy(&last_call.stack, stack, sizeof last_call.stack);
  ++call_count;
}

extern "C" int fake_calls(FakeCall* last) {
  *last = last_call;
  return call_count;
}
extern "C" void fake_forget(void) {
  call_count = 0;
}
extern "C" void* fake_override(const char* symbol, void* function) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (std::strcmp(kNames[i], symbol) == 0) return std::exchange(fake_overrides[i], function);
  return nullptr;
}
extern "C" void* fake_looks_up(const char* library, const char* symbol) {
  return dlsym(dlopen(library, RTLD_NOW), symbol);
}
