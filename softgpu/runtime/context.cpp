// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/context.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tidemark::softgpu::runtime {
namespace {

// generation counts resets: a thread that bound an older one binds again.
struct Primary {
  std::mutex mutex;
  CUcontext context = nullptr;
  std::atomic<unsigned> generation{0};
};

// Leaked: used by exit handlers of the program.
std::vector<Primary>& primaries() {
  static auto& all = *[] {
    int count = 0;
    if (call(&Driver::cuDeviceGetCount, &count) != CUDA_SUCCESS) count = 0;
    return new std::vector<Primary>(static_cast<std::size_t>(count));
  }();
  return all;
}

constexpr int kNone = -1;

struct ThreadDevice {
  int chosen = kNone;
  int bound_device = kNone;
  CUcontext bound = nullptr;
  unsigned bound_generation = 0;
};

constinit thread_local ThreadDevice thread_device;
constinit std::atomic<int> default_device{0};

int chosen_device() {
  ThreadDevice& me = thread_device;
  if (me.chosen == kNone) me.chosen = default_device.load(std::memory_order_relaxed);
  return me.chosen;
}

// Whether the context that this runtime made current here belongs to a primary context that was reset since.
bool is_stale(const ThreadDevice& me) {
  return me.bound_device == kNone || primaries()[static_cast<std::size_t>(me.bound_device)].generation.load(
                                         std::memory_order_acquire) != me.bound_generation;
}

cudaError_t bind(int device) {
  Primary& primary = primaries()[static_cast<std::size_t>(device)];
  unsigned const generation = primary.generation.load(std::memory_order_acquire);
  CUcontext context = nullptr;
  if (cudaError_t const error = primary_context(device, context); error != cudaSuccess) return error;
  if (CUresult const result = call(&Driver::cuCtxSetCurrent, context); result != CUDA_SUCCESS)
    return to_runtime(result);
  thread_device = {device, device, context, generation};
  return cudaSuccess;
}

// The context that is current on this thread and still alive, or null.
cudaError_t live_context(CUcontext& context) {
  if (CUresult const result = call(&Driver::cuCtxGetCurrent, &context); result != CUDA_SUCCESS)
    return to_runtime(result);
  if (context != nullptr && context == thread_device.bound && is_stale(thread_device)) context = nullptr;
  return cudaSuccess;
}

}  // namespace

cudaError_t device_count(int& count) {
  count = 0;
  if (cudaError_t const error = initialize_driver(); error != cudaSuccess) return error;
  count = static_cast<int>(primaries().size());
  return count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t check_device(int device) {
  int count = 0;
  if (cudaError_t const error = device_count(count); error != cudaSuccess) return error;
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t primary_context(int device, CUcontext& context) {
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return error;
  Primary& primary = primaries()[static_cast<std::size_t>(device)];
  std::lock_guard const lock(primary.mutex);
  if (primary.context == nullptr) {
    CUresult const result = call(&Driver::cuDevicePrimaryCtxRetain, &primary.context, device);
    if (result != CUDA_SUCCESS) {
      primary.context = nullptr;
      return to_runtime(result);
    }
  }
  context = primary.context;
  return cudaSuccess;
}

cudaError_t enter() {
  if (cudaError_t const error = initialize_driver(); error != cudaSuccess) return error;
  CUcontext context = nullptr;
  if (cudaError_t const error = live_context(context); error != cudaSuccess) return error;
  if (context != nullptr) return cudaSuccess;
  int const device = chosen_device();
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return error;
  return bind(device);
}

cudaError_t current_device(int& device) {
  int count = 0;
  if (cudaError_t const error = device_count(count); error != cudaSuccess) return error;
  CUcontext context = nullptr;
  if (cudaError_t const error = live_context(context); error != cudaSuccess) return error;
  if (context == nullptr || context == thread_device.bound) {
    device = chosen_device();
    return cudaSuccess;
  }
  return to_runtime(call(&Driver::cuCtxGetDevice, &device));
}

cudaError_t set_device(int device) {
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return error;
  thread_device.chosen = device;
  CUcontext context = nullptr;
  if (cudaError_t const error = live_context(context); error != cudaSuccess) return error;
  bool const there = context != nullptr && context == thread_device.bound && thread_device.bound_device == device;
  return there ? cudaSuccess : bind(device);
}

void set_default_device(int device) {
  default_device.store(device, std::memory_order_relaxed);
}

cudaError_t reset_device(int device) {
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return error;
  Primary& primary = primaries()[static_cast<std::size_t>(device)];
  std::lock_guard const lock(primary.mutex);
  CUcontext current = nullptr;
  (void)call(&Driver::cuCtxGetCurrent, &current);
  if (current != nullptr && current == primary.context) (void)call(&Driver::cuCtxSetCurrent, CUcontext{nullptr});
  CUresult const result = call(&Driver::cuDevicePrimaryCtxReset, device);
  // Resetting does not give back the reference taken by Retain.
  if (primary.context != nullptr) (void)call(&Driver::cuDevicePrimaryCtxRelease, device);
  primary.context = nullptr;
  primary.generation.fetch_add(1, std::memory_order_release);
  forget_sticky_errors();
  return to_runtime(result);
}

}  // namespace tidemark::softgpu::runtime
