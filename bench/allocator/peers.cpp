// SPDX-License-Identifier: Apache-2.0
#include "bench/allocator/peers.h"

#include <cstdio>

namespace tidemark::bench {

const TorchTable* torch() {
#ifdef BENCH_TORCH_MODULE
  void* const library = dlopen(BENCH_TORCH_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "PyTorch's allocator cannot be opened: %s\n", dlerror());
    return nullptr;
  }
  auto const table = reinterpret_cast<TorchTableFunction>(dlsym(library, "bench_torch_table"));
  return table == nullptr ? nullptr : table();
#else
  return nullptr;
#endif
}

}  // namespace tidemark::bench
