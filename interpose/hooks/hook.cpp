// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/hook.h"

#include <algorithm>

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

bool may_ask(const Request& request, Place& place, Pass& pass) {
  place = current_place();
  if (request.device >= 0 && request.device != place.device)
    place = {.device = static_cast<std::uint8_t>(request.device)};
  else if (place.context == 0)
    return true;
  devices().meet(place.device);
  if (request.undo == nullptr) return true;
  if (beyond_limit(place.device, request.size_bytes)) {
    report(request, place, CUDA_ERROR_OUT_OF_MEMORY);
    return false;
  }
  pass = enter_gate(place.device, request.size_bytes);
  return true;
}

namespace {

// Physical memory belongs to no context, and a reset is documented to leave a pool's blocks.
bool outlives_context(trace::Class block_class) {
  return block_class == trace::Class::Physical || block_class == trace::Class::Pool;
}

void sample(const Place& place) {
  if (place.context != 0) return devices().sample_current(place.device);
  devices().sample(place.device);
}

// Whether a block that is just made has taken the device beyond the limit. Alone, the credit is what is left.
bool went_too_far(const Request& request, const Pass& pass) {
  if (pass.kind != Pass::Kind::Alone) return false;
  std::uint64_t const limit = limit_bytes();
  std::uint64_t const taken = std::max(devices().measure(pass.device),
                                       devices().overhead_bytes(pass.device) + devices().live_bytes(pass.device));
  set_credit(pass.device, taken);
  return request.undo != nullptr && limit != 0 && taken > limit;
}

}  // namespace

CUresult asked(const Request& request, const Place& place, const Pass& pass, CUresult result, Allocation made) {
  if (result != CUDA_SUCCESS) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) report(request, place, result);
    return result;
  }
  made.block_class = request.block_class;
  made.device = place.device;
  made.is_handle = request.holder != nullptr;
  made.context = place.context;
  made.stream = reinterpret_cast<std::uint64_t>(request.stream);
  if (outlives_context(made.block_class)) made.context = 0;
  if (made.block_class == trace::Class::Pool || made.block_class == trace::Class::Managed) devices().expect_moves();
  if (went_too_far(request, pass) && request.undo(made) == CUDA_SUCCESS) {
    set_credit(pass.device, devices().measure(pass.device));
    recorder().undone(made);
    report(request, place, CUDA_ERROR_OUT_OF_MEMORY);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (pass.kind != Pass::Kind::Alone && trace::on_device(made.block_class)) sample(place);
  if (request.holder != nullptr) request.holder(made);
  recorder().allocated(made);
  if (!devices().known(made.device)) devices().sample(made.device);  // by what is live
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
