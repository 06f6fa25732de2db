/* SPDX-License-Identifier: Apache-2.0 */
/* What softgpu's libcuda.so.1 exports beside the CUDA driver API: for its sister libraries (cuBLAS, NVML, CUPTI) and
 * for an allocator that wants its own blocks checked. All are found by dlsym; a client must work without them, since a
 * real driver has none. Threads: all functions may be called from any thread. Integers returned are CUresult values. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range of device memory that an item of work reads or writes, for the checker. */
typedef struct SoftgpuTouch {
  uint64_t address;
  size_t bytes;
  int writes;
} SoftgpuTouch;

/* Work that a sister library queues on a stream as if it were a kernel: skipped in dry run. */
typedef struct SoftgpuWork {
  const char* name;        /* stays alive: shown by the checker and by CUPTI */
  void (*run)(void* args); /* called once, in stream order; captured: once per launch of the graph */
  const void* args;        /* copied */
  size_t args_bytes;
  const SoftgpuTouch* touches; /* copied */
  size_t touch_count;
} SoftgpuWork;

/* stream: a CUstream of the current context (0 legacy default, CU_STREAM_PER_THREAD). Capture turns it into a node. */
int softgpu_submit(void* stream, const SoftgpuWork* work);
/* 1 in dry run (kernels and library work are skipped), else 0. */
int softgpu_dry_run(void);
/* How many threads the device computes with (SOFTGPU_WORKERS, else the machine's cores). */
int softgpu_workers(void);

/* What a code image holds that the device cannot read out of it: the runtime tells before it loads the image, since the
 * program registers each name with it. kind: "kernel" (bytes is its __launch_bounds__, or 0), "variable" or "managed"
 * (a __managed__ variable; bytes is its size). The name is copied. image: the pointer that cuLibraryLoadData or
 * cuModuleLoadData will be given.
 */
void softgpu_describe_image(const void* image, const char* kind, const char* name, size_t bytes);

/* An allocator above the device makes its own blocks visible to the checker: at each serve with a generation that is
 * new for that range, at each free with generation 0. Takes effect at once. A no-op unless SOFTGPU_CHECK=1. */
void softgpu_range(const void* address, size_t bytes, uint64_t generation);
/* The same in the order of a stream (a stream-ordered serve or free). */
void softgpu_range_async(const void* address, size_t bytes, uint64_t generation, void* stream);
/* Reports made by the checker so far in this process. */
uint64_t softgpu_check_reports(void);

typedef struct SoftgpuDeviceInfo {
  char name[96];
  char profile[32];
  unsigned char uuid[16];
  uint64_t total_bytes;
  uint64_t used_bytes;    /* all processes, contexts included: total - used = what cuMemGetInfo calls free */
  uint64_t process_bytes; /* of this process, its contexts included */
  uint64_t context_bytes; /* of this process: context overhead alone */
  int compute_major, compute_minor, sm_count;
  int pci_bus, pci_device, pci_domain;
} SoftgpuDeviceInfo;

typedef struct SoftgpuProcessInfo {
  int32_t pid;
  uint64_t used_bytes;
} SoftgpuProcessInfo;

/* These work before cuInit and in a process that never touches CUDA. 0 on success. */
int softgpu_device_count(void);
int softgpu_device_info(int device, SoftgpuDeviceInfo* out);
/* Fills up to capacity entries; *count becomes the number there are. */
int softgpu_processes(int device, SoftgpuProcessInfo* out, int capacity, int* count);
int softgpu_driver_version(void); /* as cuDriverGetVersion */

#ifdef __cplusplus
}
#endif
