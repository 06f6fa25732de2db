// SPDX-License-Identifier: Apache-2.0
// How much memory there is. Without a limit the answers pass untouched.
#include "interpose/hooks/hook.h"
#include "interpose/limit/limit.h"

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuMemGetInfo_v2)(size_t* free, size_t* total) {
  CUresult const result = call(&Driver::cuMemGetInfo_v2, free, total);
  // Some clients ask with null pointers.
  if (result != CUDA_SUCCESS || free == nullptr || total == nullptr || !ready() || limit_bytes() == 0) return result;
  shield([&] {
    Place const place = current_place();
    devices().meet(place.device);
    Capacity const seen = limited(place.device, {.free_bytes = *free, .total_bytes = *total});
    *free = seen.free_bytes;
    *total = seen.total_bytes;
  });
  return result;
}

TIDEMARK_HOOK(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) {
  CUresult const result = call(&Driver::cuDeviceTotalMem_v2, bytes, device);
  if (result == CUDA_SUCCESS && ready() && limit_bytes() != 0 && *bytes > limit_bytes()) *bytes = limit_bytes();
  return result;
}
