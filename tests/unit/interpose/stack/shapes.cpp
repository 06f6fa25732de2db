// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/stack/shapes.h"

#include <alloca.h>
#include <stdlib.h>

#include <cstdint>

namespace tidemark::interpose {
namespace {

#define SHAPE [[gnu::noinline, gnu::noipa]] void
// Keeps the call from becoming a jump.
#define AFTER asm volatile("" ::: "memory")

template <class T>
void touch(T* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; i += 1024) bytes[i] = static_cast<T>(i);
  asm volatile("" ::"r"(bytes) : "memory");
}

SHAPE plain(Call call) {
  call();
  AFTER;
}

SHAPE large(Call call) {
  char locals[300 * 1024];
  touch(locals, sizeof locals);
  call();
  touch(locals, sizeof locals);
}

SHAPE aligned(Call call) {
  alignas(128) char locals[256];
  touch(locals, sizeof locals);
  call();
  touch(locals, sizeof locals);
}

SHAPE variable(Call call, std::size_t bytes) {
  auto* const locals = static_cast<char*>(alloca(bytes));
  touch(locals, bytes);
  call();
  touch(locals, bytes);
}

SHAPE aligned_variable(Call call, std::size_t bytes) {
  alignas(64) char fixed[64];
  auto* const locals = static_cast<char*>(alloca(bytes));
  touch(fixed, sizeof fixed);
  touch(locals, bytes);
  call();
  touch(fixed, sizeof fixed);
  touch(locals, bytes);
}

SHAPE many_registers(Call call) {
  std::uint64_t v[10];
  for (int i = 0; i < 10; ++i) asm volatile("mov %1, %0" : "=r"(v[i]) : "r"(std::uint64_t(i)));
  call();
  asm volatile("" ::"r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7]));
  call();
  asm volatile("" ::"r"(v[8]), "r"(v[9]));
}

SHAPE deep(Call call, int times) {
  if (times == 0)
    call();
  else
    deep(call, times - 1);
  AFTER;
}

thread_local Call for_comparison;
int compare(const void*, const void*) {
  for_comparison();
  return 0;
}

SHAPE through_library(Call call) {
  int values[2] = {1, 2};
  for_comparison = call;
  qsort(values, 2, sizeof values[0], compare);
  AFTER;
}

SHAPE while_thrown(Call call) {
  try {
    throw 1;
  } catch (int) {
    call();
    AFTER;
  }
}

}  // namespace

extern const Shapes SHAPES;
const Shapes SHAPES{plain,          large, aligned,         variable,    aligned_variable,
                    many_registers, deep,  through_library, while_thrown};

}  // namespace tidemark::interpose
