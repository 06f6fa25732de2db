/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between the software device and a library of CPU kernel bodies.
 *
 * A kernel library is a shared object that exports softgpu_kernel_library(). It has no undefined softgpu symbol, so it
 * loads whatever the scope of the device library is. The device calls `run` from several threads at once, each with a
 * range of blocks of the same launch; everything `run` points to lives as long as the library. C, so that any compiler
 * and any language can supply one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SOFTGPU_KERNEL_ABI = 1 };

typedef struct SoftgpuDim {
  uint32_t x, y, z;
} SoftgpuDim;

/* What happened inside a kernel; becomes the context's sticky error. The library itself says it on stderr, in one line
 * with the kernel, the block and the thread. After any but OK the launch is dead: `run` has stopped at that block and
 * the device hands out no further ones. */
typedef enum SoftgpuKernelStatus {
  SOFTGPU_KERNEL_OK = 0,
  SOFTGPU_KERNEL_TRAP = 1,            /* __trap() */
  SOFTGPU_KERNEL_ASSERT = 2,          /* assert() in device code */
  SOFTGPU_KERNEL_DIVERGENT_SYNC = 3,  /* a barrier that not all threads reach: undefined on a GPU, an error here */
  SOFTGPU_KERNEL_FLAT_SYNC = 4,       /* a kernel declared flat (no barrier) that reached one */
  SOFTGPU_KERNEL_STACK_OVERFLOW = 5,  /* a thread used more than its stack (SOFTGPU_STACK) */
  SOFTGPU_KERNEL_ILLEGAL_ADDRESS = 6, /* a fault (SIGSEGV, SIGBUS), or a write past the dynamic shared memory */
  SOFTGPU_KERNEL_BAD_LAUNCH = 7       /* cannot run at all: more than 1024 threads in a block, no memory for stacks */
} SoftgpuKernelStatus;

typedef struct SoftgpuLaunch {
  SoftgpuDim grid, block;
  uint32_t dynamic_shared_bytes;
  uint32_t cooperative; /* launched cooperatively: all blocks meet in grid.sync(), so `run` is called once, for all */
} SoftgpuLaunch;

typedef struct SoftgpuParam {
  uint32_t size_bytes;
  uint32_t align_bytes;
  uint32_t is_pointer; /* the parameter's own type is a pointer */
} SoftgpuParam;

typedef struct SoftgpuKernel {
  const char* name; /* canonical: look a name up as nvcc registers it, then as canonical_name() (names.h) makes it */
  const SoftgpuParam* params;
  uint32_t param_count;
  uint32_t static_shared_bytes; /* 0 when unknown */
  uint32_t max_threads_per_block;
  uint32_t flags;
  /* Runs blocks [first, last) in the order of their linear index (x fastest) on the calling thread. params[i] points to
   * the i-th argument's bytes, copied at launch; any alignment. Ranges should be given out in rising order: kernels
   * that wait for a block before their own (scans with look-back) then always find it running or done. */
  SoftgpuKernelStatus (*run)(const SoftgpuLaunch* launch, void* const* params, uint64_t first, uint64_t last);
} SoftgpuKernel;

enum {
  SOFTGPU_KERNEL_FLAT = 1u,   /* no barrier, no warp operation: a plain loop over threads */
  SOFTGPU_KERNEL_SERIAL = 2u, /* blocks must run one after another on one thread */
};

/* A __device__, __constant__ or __managed__ variable: its address in the library is its device address. The name
 * follows the same rule as a kernel's. */
typedef struct SoftgpuSymbol {
  const char* name;
  void* address;
  size_t size_bytes;
} SoftgpuSymbol;

typedef struct SoftgpuKernelLibrary {
  uint32_t abi; /* SOFTGPU_KERNEL_ABI */
  uint32_t kernel_count;
  const SoftgpuKernel* kernels;
  uint32_t symbol_count;
  const SoftgpuSymbol* symbols;
} SoftgpuKernelLibrary;

typedef const SoftgpuKernelLibrary* (*SoftgpuKernelLibraryFn)(void);
#define SOFTGPU_KERNEL_LIBRARY_ENTRY "softgpu_kernel_library"

#ifdef __cplusplus
}
#endif
