// SPDX-License-Identifier: Apache-2.0
// The same bodies for nvcc. Never run: its names are compared with the CPU library's.
#include "tests/unit/softgpu/kernel/bodies/list.h"

#define ADDRESS(...) reinterpret_cast<const void*>(&__VA_ARGS__),
extern const void* const kernels[];
const void* const kernels[] = {TEST_KERNELS(ADDRESS) TEST_FLAT_KERNELS(ADDRESS)};

template <class Symbol>
void read(const Symbol& symbol) {
  void* address = nullptr;
  (void)cudaGetSymbolAddress(&address, symbol);
}
#define READ(...) read(__VA_ARGS__);
void read_symbols() {
  TEST_SYMBOLS(READ)
}
