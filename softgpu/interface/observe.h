/* SPDX-License-Identifier: Apache-2.0 */
/* How softgpu's libcupti sees the calls into libcuda and libcudart and what the device does (docs/decisions/0006).
 *
 * One observer at a time, a constant table of functions that lives as long as the process. While there is none, a call
 * costs one load more and the device keeps no records.
 * Threads: enter, exit and destroying are called by the program's threads with no lock held: they may call CUDA. All
 * others are called under the device's lock: they only take notes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SOFTGPU_DRIVER_API = 1, SOFTGPU_RUNTIME_API = 2 };

/* One call of an entry point; stands on the caller's stack from enter to exit. */
typedef struct SoftgpuCall {
  uint32_t domain;
  uint32_t id;            /* as in cupti_driver_cbid.h and cupti_runtime_cbid.h */
  const char* name;       /* constant */
  const void* params;     /* the public struct NAME_params; where there is none, the arguments in order; or null */
  void* result;           /* null until exit */
  int result_is_status;   /* *result is a CUresult or a cudaError_t */
  const void* caller;     /* return address */
  uint64_t observers[10]; /* the observer's own, zero at enter */
} SoftgpuCall;

/* Values as in CUpti_ActivityMemoryKind. */
enum {
  SOFTGPU_MEMORY_PAGEABLE = 1,
  SOFTGPU_MEMORY_PINNED = 2,
  SOFTGPU_MEMORY_DEVICE = 3,
  SOFTGPU_MEMORY_ARRAY = 4,
  SOFTGPU_MEMORY_MANAGED = 5,
  SOFTGPU_MEMORY_DEVICE_STATIC = 6,
  SOFTGPU_MEMORY_MANAGED_STATIC = 7
};

typedef struct SoftgpuPoolState {
  uint64_t address; /* of its window; 0: no pool */
  uint64_t release_threshold_bytes;
  uint64_t reserved_bytes;
  uint64_t used_bytes;
} SoftgpuPoolState;

typedef struct SoftgpuMemoryEvent {
  int released; /* 0: allocated */
  int kind;
  uint64_t address;
  uint64_t bytes; /* as requested */
  int device;
  uint64_t context; /* id, 0: none */
  uint64_t stream;  /* id, 0: not in a stream's order */
  uint64_t time_ns;
  const char* name;      /* of a variable, or null; gone after the call */
  SoftgpuPoolState pool; /* after the operation */
} SoftgpuMemoryEvent;

enum { SOFTGPU_POOL_CREATED = 1, SOFTGPU_POOL_DESTROYED = 2, SOFTGPU_POOL_TRIMMED = 3 };

typedef struct SoftgpuPoolEvent {
  int what;
  int device;
  uint64_t keep_bytes; /* trimmed: as asked for */
  uint64_t time_ns;
  SoftgpuPoolState pool;
} SoftgpuPoolEvent;

enum { SOFTGPU_WORK_KERNEL = 1, SOFTGPU_WORK_COPY = 2, SOFTGPU_WORK_SET = 3 };

/* Work that has been executed, in the device's time. */
typedef struct SoftgpuWorkEvent {
  int what;
  uint64_t tag; /* what the observer's tag() gave when the work was queued */
  int device;
  uint64_t context, stream; /* a graph's work: of its launch */
  uint64_t queued_ns, start_ns, end_ns;
  const char* name; /* kernel: mangled as registered; gone after the call */
  uint32_t grid[3], block[3];
  uint32_t static_shared_bytes, dynamic_shared_bytes, registers_per_thread;
  int cooperative;
  uint64_t bytes;                        /* copy, set */
  uint32_t value;                        /* set */
  int source_kind, destination_kind;     /* copy; a set has a destination */
  int source_device, destination_device; /* copy: where that memory is */
} SoftgpuWorkEvent;

enum { SOFTGPU_CONTEXT = 1, SOFTGPU_STREAM = 2, SOFTGPU_MODULE = 3 };

typedef struct SoftgpuResourceEvent {
  int what;
  int device;
  void* context_handle;
  uint64_t context;
  void* stream_handle;  /* stream; of a context: its default stream */
  uint64_t stream;      /* id of that */
  int is_default;       /* stream */
  int non_blocking;     /* stream */
  int priority;         /* stream */
  uint64_t module;      /* id */
  const void* image;    /* module: as the program gave it */
  uint64_t image_bytes; /* 0: not known */
} SoftgpuResourceEvent;

typedef struct SoftgpuObserver {
  void (*enter)(SoftgpuCall* call);
  void (*exit)(SoftgpuCall* call);
  uint64_t (*tag)(void); /* asked on the thread that queues work */
  void (*memory)(const SoftgpuMemoryEvent* event);
  void (*pool)(const SoftgpuPoolEvent* event);
  void (*work)(const SoftgpuWorkEvent* event);
  void (*created)(const SoftgpuResourceEvent* event);
  void (*destroying)(const SoftgpuResourceEvent* event); /* it is still there, and the device's lock is not held */
} SoftgpuObserver;

#pragma GCC visibility push(default)
/* libcuda exports all of these; null: nobody observes any more (calls under way still end with the former). */
void softgpu_observe(const SoftgpuObserver* observer);
const SoftgpuObserver* softgpu_observer(void);
/* The device's clock, ns: CLOCK_MONOTONIC, or the simulated one. */
uint64_t softgpu_clock(void);
int softgpu_clock_is_simulated(void);
/* The calling thread's current context, null when there is none; id and device may be null. */
void* softgpu_current_context(uint64_t* id, int* device);
/* The name of a CUfunction or CUkernel, or null. Stays valid while its module is loaded. */
const char* softgpu_kernel_name(const void* function);
/* Every live context and then every live stream. The function is called with the device's lock held. */
void softgpu_resources(void (*created)(const SoftgpuResourceEvent* event, void* data), void* data);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
