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

/* For the body of such work: calls body(state, first, last) for pieces of [0, count), each of at least `grain` indices,
 * on up to `threads` of these threads, the caller's among them, and returns when all are done. */
void softgpu_parallel(int threads, uint64_t count, uint64_t grain,
                      void (*body)(void* state, uint64_t first, uint64_t last), void* state);

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

/* What is live on a device, in this process, by the device model's own books: an account kept above the device can be
 * compared with it byte for byte after every call. Live as the host sees it: memory given to a stream-ordered free is
 * gone with that call, a graph's allocation lives from the launch that makes it to the free. Classes may be added. */
enum {
  SOFTGPU_LIVE_LINEAR = 0,     /* cuMemAlloc; cuMemAllocPitch with the padding of its rows */
  SOFTGPU_LIVE_POOL = 1,       /* stream-ordered allocations */
  SOFTGPU_LIVE_GRAPH = 2,      /* allocations of graphs */
  SOFTGPU_LIVE_ARRAY = 3,      /* arrays; each level of a mipmapped one */
  SOFTGPU_LIVE_PHYSICAL = 4,   /* cuMemCreate, until the last handle and the last mapping are gone */
  SOFTGPU_LIVE_MAPPED = 5,     /* ranges of cuMemMap: addresses of physical memory that is counted above */
  SOFTGPU_LIVE_MANAGED = 6,    /* on the device that was current, wherever its pages are */
  SOFTGPU_LIVE_PINNED = 7,     /* host memory, on the device that was current */
  SOFTGPU_LIVE_REGISTERED = 8, /* the program's own host memory */
  SOFTGPU_LIVE_VARIABLE = 9,   /* variables of device code that were asked for */
  SOFTGPU_LIVE_CLASSES = 10
};
typedef struct SoftgpuLive {
  uint64_t requested_bytes; /* as asked for, before any rounding */
  uint64_t blocks;
} SoftgpuLive;
/* Fills out[0 .. capacity) in the order of the classes. The cost grows with the number of live blocks. */
int softgpu_live(int device, SoftgpuLive* out, int capacity);

#ifdef __cplusplus
}
#endif
