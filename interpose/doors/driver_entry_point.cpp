// SPDX-License-Identifier: Apache-2.0
// The runtime's way to functions of the driver. A runtime that asks cuGetProcAddress has swapped the answer already;
// swapping it again changes nothing.
#include <cuda.h>

#include "interpose/doors/table.h"
#include "interpose/process/shield.h"
#include "interpose/real/runtime.h"

using namespace tidemark::interpose;

namespace {

using Status = cudaDriverEntryPointQueryResult;
constexpr unsigned long long kPerThread = cudaEnablePerThreadDefaultStream;

cudaError_t swapped(cudaError_t result, const char* name, void** function, bool per_thread) {
  if (result == cudaSuccess && function != nullptr)
    shield([&] { *function = hook_for_address(name, *function, per_thread); });
  return result;
}

template <int major>
cudaError_t entry_point(RuntimeFunction& real, bool twin, const char* name, void** function, unsigned long long flags,
                        Status* status) {
  auto const call = real.get<cudaError_t (*)(const char*, void**, unsigned long long, Status*)>(major);
  if (call == nullptr) return cudaErrorNotSupported;
  return swapped(call(name, function, flags, status), name, function, twin || (flags & kPerThread) != 0);
}

template <int major>
cudaError_t entry_point(RuntimeFunction& real, bool twin, const char* name, void** function, unsigned int version,
                        unsigned long long flags, Status* status) {
  auto const call = real.get<cudaError_t (*)(const char*, void**, unsigned int, unsigned long long, Status*)>(major);
  if (call == nullptr) return cudaErrorNotSupported;
  return swapped(call(name, function, version, flags, status), name, function, twin || (flags & kPerThread) != 0);
}

constinit RuntimeFunction real_plain("cudaGetDriverEntryPoint"), real_plain_twin("cudaGetDriverEntryPoint_ptsz"),
    real_versioned("cudaGetDriverEntryPointByVersion"), real_versioned_twin("cudaGetDriverEntryPointByVersion_ptsz");

}  // namespace

#define TIDEMARK_ENTRY_POINT(major, name, real, twin)                                         \
  extern "C" __attribute__((visibility("hidden"))) cudaError_t tidemark_hook##major##_##name( \
      const char* symbol, void** function, unsigned long long flags, Status* status) {        \
    return entry_point<major>(real, twin, symbol, function, flags, status);                   \
  }
#define TIDEMARK_ENTRY_POINT_BY_VERSION(major, name, real, twin)                                             \
  extern "C" __attribute__((visibility("hidden"))) cudaError_t tidemark_hook##major##_##name(                \
      const char* symbol, void** function, unsigned int version, unsigned long long flags, Status* status) { \
    return entry_point<major>(real, twin, symbol, function, version, flags, status);                         \
  }

TIDEMARK_ENTRY_POINT(12, cudaGetDriverEntryPoint, real_plain, false)
TIDEMARK_ENTRY_POINT(13, cudaGetDriverEntryPoint, real_plain, false)
TIDEMARK_ENTRY_POINT(12, cudaGetDriverEntryPoint_ptsz, real_plain_twin, true)
TIDEMARK_ENTRY_POINT(13, cudaGetDriverEntryPoint_ptsz, real_plain_twin, true)
TIDEMARK_ENTRY_POINT_BY_VERSION(12, cudaGetDriverEntryPointByVersion, real_versioned, false)
TIDEMARK_ENTRY_POINT_BY_VERSION(13, cudaGetDriverEntryPointByVersion, real_versioned, false)
TIDEMARK_ENTRY_POINT_BY_VERSION(12, cudaGetDriverEntryPointByVersion_ptsz, real_versioned_twin, true)
TIDEMARK_ENTRY_POINT_BY_VERSION(13, cudaGetDriverEntryPointByVersion_ptsz, real_versioned_twin, true)
