// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/hook.h"

#include "interpose/limit/limit.h"
#include "interpose/oom/post_mortem.h"

namespace tidemark::interpose {

void count_reentered() {
  if (recording()) recorder().count_loss(trace::Loss::Reentered);
}

std::uint64_t block_bytes(CUdeviceptr block) {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  return call(&Driver::cuMemGetAddressRange_v2, &base, &bytes, block) == CUDA_SUCCESS ? bytes : 0;
}

namespace {

void report(const Request& request, const Place& place, CUresult error) {
  const char* const named = this_thread().call;
  report_refusal({.call = named != nullptr ? named : request.call,
                  .size_bytes = request.size_bytes,
                  .block_class = request.block_class,
                  .device = place.device,
                  .has_context = place.context != 0,
                  .error = static_cast<int>(error)});
}

}  // namespace

bool may_ask(const Request& request, Place& place) {
  place = current_place();
  bool const elsewhere = request.device >= 0 && request.device != place.device;
  if (elsewhere) place = {.device = static_cast<std::uint8_t>(request.device)};
  // The driver tells what is in use on the current device alone.
  if (place.context == 0) return true;
  devices().meet(place.device);
  if (request.undo == nullptr || !beyond_limit(place.device, request.size_bytes)) return true;
  report(request, place, CUDA_ERROR_OUT_OF_MEMORY);
  return false;
}

CUresult asked(const Request& request, const Place& place, CUresult result, Allocation made) {
  if (result != CUDA_SUCCESS) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) report(request, place, result);
    return result;
  }
  made.block_class = request.block_class;
  made.device = place.device;
  made.is_handle = request.holder != nullptr;
  made.context = place.context;
  made.stream = reinterpret_cast<std::uint64_t>(request.stream);
  // They are the device's and outlive the context.
  if (made.block_class == trace::Class::Physical || made.block_class == trace::Class::Pool) made.context = 0;
  if (trace::on_device(made.block_class) && place.context != 0) {
    devices().sample(place.device);
    if (request.undo != nullptr && above_limit(place.device) && request.undo(made) == CUDA_SUCCESS) {
      devices().sample(place.device);
      recorder().undone(made);
      report(request, place, CUDA_ERROR_OUT_OF_MEMORY);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  if (request.holder != nullptr) request.holder(made);
  recorder().allocated(made);
  return result;
}

CUresult undo_memory(const Allocation& made) {
  return call(&Driver::cuMemFree_v2, CUdeviceptr{made.address});
}
CUresult undo_array(const Allocation& made) {
  return call(&Driver::cuArrayDestroy, reinterpret_cast<CUarray>(made.address));
}
CUresult undo_mipmap(const Allocation& made) {
  return call(&Driver::cuMipmappedArrayDestroy, reinterpret_cast<CUmipmappedArray>(made.address));
}
CUresult undo_physical(const Allocation& made) {
  return call(&Driver::cuMemRelease, CUmemGenericAllocationHandle{made.address});
}

}  // namespace tidemark::interpose
