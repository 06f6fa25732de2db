// SPDX-License-Identifier: Apache-2.0
// A device's primary context, for questions to the driver that need one.
#pragma once
#include "interpose/real/driver.h"

namespace tidemark::interpose {

inline bool primary_is_active(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  return call(&Driver::cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// Calls f with a context current; not at all where there is no such context any more.
template <class F>
void with_context(CUcontext context, F f) {
  if (call(&Driver::cuCtxPushCurrent_v2, context) != CUDA_SUCCESS) return;
  f();
  call(&Driver::cuCtxPopCurrent_v2, &context);
}

// Its handle. Only for one that is active.
inline CUcontext primary_of(CUdevice device) {
  CUcontext primary = nullptr;
  if (call(&Driver::cuDevicePrimaryCtxRetain, &primary, device) != CUDA_SUCCESS) return nullptr;
  call(&Driver::cuDevicePrimaryCtxRelease_v2, device);
  return primary;
}

// Calls f with it current. Only for one that is active: otherwise it would be made for the question.
template <class F>
void with_primary(CUdevice device, F f) {
  CUcontext primary = nullptr;
  if (call(&Driver::cuDevicePrimaryCtxRetain, &primary, device) != CUDA_SUCCESS) return;
  with_context(primary, f);
  call(&Driver::cuDevicePrimaryCtxRelease_v2, device);
}

}  // namespace tidemark::interpose
