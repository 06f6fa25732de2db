// SPDX-License-Identifier: Apache-2.0
// Which device and context a call means. Each thread has a current device; its primary context is retained and made
// current at the thread's first call that needs one. A context that the program made current through the driver API
// wins. After cudaDeviceReset() every thread binds anew at its next call.
// Threads: all functions may be called from any thread; the current device is the calling thread's.
#pragma once
#include "softgpu/runtime/convert.h"
#include "softgpu/runtime/driver.h"
#include "softgpu/runtime/error.h"

namespace tidemark::softgpu::runtime {

// Driver loaded, cuInit done, a context current on this thread.
cudaError_t enter();
// The calling thread's device: that of its current context, else the one chosen or the default.
cudaError_t current_device(int& device);
cudaError_t device_count(int& count);
// cudaErrorInvalidDevice unless 0 <= device < count.
cudaError_t check_device(int device);
// Chooses the device for this thread and makes its primary context current.
cudaError_t set_device(int device);
// The devices to try first when a thread has chosen none.
void set_default_device(int device);
// The device's primary context, retained once per process until the device is reset.
cudaError_t primary_context(int device, CUcontext& context);
cudaError_t reset_device(int device);

// One driver call without a context: enter() is not needed, the driver must be there.
template <class... P, class... A>
cudaError_t forward_without_context(CUresult (*Driver::*function)(P...), A... arguments) {
  if (cudaError_t const error = initialize_driver(); error != cudaSuccess) return record(error);
  return record(call(function, convert<P>(arguments)...));
}

// One driver call in the thread's context: the body of every entry point that has a twin in the driver API.
template <class... P, class... A>
cudaError_t forward(CUresult (*Driver::*function)(P...), A... arguments) {
  if (cudaError_t const error = enter(); error != cudaSuccess) return record(error);
  return record(call(function, convert<P>(arguments)...));
}

}  // namespace tidemark::softgpu::runtime
