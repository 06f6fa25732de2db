/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's allocator as the benches see it: a table in a library of its own, which is built against PyTorch's headers
 * and opened at run time where there is a PyTorch. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TorchTable {
  const char* version;
  /* Once, before all others. history: keep one of allocations and frees, without stacks. 0: it could not start, and
   * has said why on stderr. */
  int (*start)(int history);
  void* (*allocate)(size_t bytes, void* stream); /* null: out of memory */
  void (*free)(void* block);
  void (*record_stream)(void* block, void* stream);
} TorchTable;

/* The only symbol: const TorchTable* bench_torch_table(void). */
typedef const TorchTable* (*TorchTableFunction)(void);

#ifdef __cplusplus
}
#endif
