// SPDX-License-Identifier: Apache-2.0
// Contexts: made, switched, and ended with everything in them.
#include "tests/integration/preload/account/walk.h"

namespace walk {

// Waits for all work. What it gives back while a context is made cannot be told from what the context takes, and what
// it still needs of a pool that is destroyed cannot be asked for.
void Walk::settle() {
  std::vector<CUcontext> all = contexts_;
  for (CUcontext const primary : primaries_)
    if (primary != nullptr) all.push_back(primary);
  for (CUcontext const context : all) {
    CUcontext popped = nullptr;
    if (cuCtxPushCurrent(context) != CUDA_SUCCESS) continue;
    cuCtxSynchronize();
    cuCtxPopCurrent(&popped);
  }
}

CUcontext Walk::primary(int device) {
  if (primaries_[device] != nullptr) return primaries_[device];
  settle();
  cuDevicePrimaryCtxRetain(&primaries_[device], device);
  return primaries_[device];
}

bool Walk::make_context() {
  CUcontext made = nullptr;
  settle();
  if (contexts_.size() > 3 || cuCtxCreate(&made, nullptr, 0, static_cast<CUdevice>(pick(kDevices))) != CUDA_SUCCESS)
    return false;
  contexts_.push_back(made);
  return true;
}

// What belongs to it goes with it; its streams and graphs cannot be named any more.
bool Walk::destroy_context() {
  if (nameless_) return false;
  CUcontext const gone = take(contexts_, CUcontext{nullptr});
  if (gone == nullptr || cuCtxDestroy(gone) != CUDA_SUCCESS) return false;
  context_ended(gone);
  streams_.clear();
  graphs_.clear();
  return cuCtxSetCurrent(primary(0)) == CUDA_SUCCESS;
}

bool Walk::switch_context() {
  if (chance(40)) return cuCtxSetCurrent(any(contexts_, primary(0))) == CUDA_SUCCESS;
  if (chance(3)) return cuCtxSetCurrent(nullptr) == CUDA_SUCCESS;
  return cuCtxSetCurrent(primary(static_cast<int>(pick(kDevices)))) == CUDA_SUCCESS;
}

bool Walk::reset_device() {
  if (nameless_) return false;
  auto const device = static_cast<CUdevice>(pick(kDevices));
  bool const well = cuDevicePrimaryCtxReset(device) == CUDA_SUCCESS;
  if (well && primaries_[device] != nullptr) context_ended(primaries_[device]);
  streams_.clear();
  graphs_.clear();
  // Resetting does not release: the hold is given up, and a new one brings the context back.
  if (primaries_[device] != nullptr) cuDevicePrimaryCtxRelease(device);
  primaries_[device] = nullptr;
  return cuCtxSetCurrent(primary(device)) == CUDA_SUCCESS && well;
}

bool Walk::release_primary() {
  if (nameless_) return false;
  auto const device = static_cast<CUdevice>(pick(kDevices));
  if (primaries_[device] == nullptr) return false;
  bool const well = cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS;
  if (well) context_ended(primaries_[device]);
  streams_.clear();
  graphs_.clear();
  primaries_[device] = nullptr;
  return cuCtxSetCurrent(primary(chance(50) ? device : 0)) == CUDA_SUCCESS && well;
}

}  // namespace walk
