// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/hook.h"

#include <algorithm>

#include "interpose/limit/limit.h"
#include "interpose/oom/post_mortem.h"
#include "interpose/serve/serve.h"

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
  else if (request.device < 0 && place.context == 0)
    return true;  // where it would be, nobody knows; nor will it be
  devices().meet(place.device);
  if (request.undo == nullptr) return true;
  if (beyond_limit(place.device, request.size_bytes)) {
    report(request, place, CUDA_ERROR_OUT_OF_MEMORY);
    return false;
  }
  // What caches keep counts against the limit, and makes room; how much is needed exactly, only the driver knows.
  std::uint64_t const wanted = devices().taken_bytes(place.device) + request.size_bytes;
  if (std::uint64_t const limit = limit_bytes(); limit != 0 && wanted > limit)
    serve::relieve(place.device, wanted - limit);
  pass = enter_gate(place.device, request.size_bytes);
  return true;
}

bool relieved(const Request& request, const Place& place, CUresult result, bool everything) {
  return result == CUDA_ERROR_OUT_OF_MEMORY &&
         serve::relieve(place.device, everything ? serve::kEverything : request.size_bytes);
}

bool relieved(int device, CUresult result) {
  std::uint8_t const where = device < 0 ? current_place().device : static_cast<std::uint8_t>(device);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || !serve::relieve(where, serve::kEverything)) return false;
  devices().begin_overhead(where);  // what has gone meanwhile is not the call's
  return true;
}

namespace {

// Physical memory belongs to no context, and a reset is documented to leave a pool's blocks.
bool outlives_context(trace::Class block_class) {
  return block_class == trace::Class::Physical || block_class == trace::Class::Pool;
}

void sample(const Place& place) {
  if (devices().sample_moved()) return;
  if (place.context != 0) return devices().sample_current(place.device);
  devices().sample(place.device);
}

// By how many bytes a block that is just made has taken the device beyond the limit. Alone, the credit is what is left.
std::uint64_t beyond(const Request& request, const Pass& pass) {
  if (pass.kind != Pass::Kind::Alone || request.undo == nullptr) return 0;
  std::uint64_t const limit = limit_bytes();
  std::uint64_t const known = devices().overhead_bytes(pass.device) + devices().live_bytes(pass.device);
  std::uint64_t const taken = std::max(devices().measure(pass.device), known);
  set_credit(pass.device, taken);
  return limit != 0 && taken > limit ? taken - limit : 0;
}

// A pool keeps what it took for a block that was given back.
void trim(const Request& request, std::uint8_t device, std::uint64_t by_bytes) {
  CUmemoryPool pool = request.pool;
  cuuint64_t reserved = 0;
  if (pool == nullptr && call(&Driver::cuDeviceGetMemPool, &pool, CUdevice{device}) != CUDA_SUCCESS) return;
  if (call(&Driver::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, static_cast<void*>(&reserved)) ==
      CUDA_SUCCESS)
    call(&Driver::cuMemPoolTrimTo, pool, std::size_t{reserved > by_bytes ? reserved - by_bytes : 0});
}

bool take_back(const Request& request, const Allocation& made, std::uint64_t beyond_bytes) {
  if (beyond_bytes == 0 || request.undo(made) != CUDA_SUCCESS) return false;
  if (made.block_class == trace::Class::Pool) trim(request, made.device, beyond_bytes);
  return true;
}

}  // namespace

CUresult asked(const Request& request, const Place& place, const Pass& pass, CUresult result, Allocation made) {
  if (result != CUDA_SUCCESS) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    devices().sample_moved();  // before it gave up, the driver has taken back what pools had free
    report(request, place, result);
    return result;
  }
  made.block_class = request.block_class;
  made.device = place.device;
  made.is_handle = request.holder != nullptr;
  made.context = place.context;
  made.stream = reinterpret_cast<std::uint64_t>(request.stream);
  if (outlives_context(made.block_class)) made.context = 0;
  if (made.block_class == trace::Class::Pool || made.block_class == trace::Class::Managed) devices().expect_moves();
  std::uint64_t excess = beyond(request, pass);
  if (excess != 0 && serve::relieve(pass.device, excess)) excess = beyond(request, pass);
  if (take_back(request, made, excess)) {
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
