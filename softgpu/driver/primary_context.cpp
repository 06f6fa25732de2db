// SPDX-License-Identifier: Apache-2.0
// A device's primary context, which the runtime uses: counted, and begun anew after its end.
#include <thread>

#include "softgpu/driver/contents.h"
#include "softgpu/driver/kernels.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

void deactivate_primary(Call& call, Device& device) {
  if (!device.primary_active || !announce_end(call, device.primary) || device.primary->ending) return;
  device.primary->ending = true;
  empty_context(call, device.primary);
  if (!call.driver.dry_run) restore_symbols();
  device.primary_active = false;
  device.primary->ending = false;
}

// A primary context that another thread is ending begins anew only when that is over.
void wait_for_end(Call& call, const Device& device) {
  while (device.primary != nullptr && device.primary->ending) {
    call.lock.unlock();
    std::this_thread::yield();
    call.lock.lock();
  }
}

}  // namespace

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    wait_for_end(call, device);
    if (device.primary == nullptr) {
      device.primary = make_context(call.driver, device, 0);
      if (device.primary == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
      device.primary->primary = true;
      device.primary_active = true;
    } else if (!device.primary_active) {
      if (!charge_overhead(call.driver, device.primary)) return CUDA_ERROR_OUT_OF_MEMORY;
      device.primary_active = true;
      observe_created(device.primary);
    }
    ++device.primary_references;
    *out = device.primary;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    if (device.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--device.primary_references == 0) deactivate_primary(call, device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    // Documented: resetting does not release, and releasing stays safe afterwards.
    deactivate_primary(call, device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return with_device(ordinal, [&](Call&, Device& device) -> CUresult {
    if (flags != nullptr) *flags = device.primary != nullptr ? device.primary->flags : device.primary_flags;
    if (active != nullptr) *active = device.primary_active;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  return with_device(ordinal, [&](Call&, Device& device) -> CUresult {
    if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
    device.primary_flags = flags;
    if (device.primary != nullptr) device.primary->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}
