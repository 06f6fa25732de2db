// SPDX-License-Identifier: Apache-2.0
#include "bench/allocator/device.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "softgpu/interface/observe.h"
#include "softgpu/interface/softgpu.h"

namespace tidemark::bench {

namespace {

std::uint64_t process_bytes() {
  SoftgpuDeviceInfo info{};
  return softgpu_device_info(0, &info) == 0 ? info.process_bytes : 0;
}

std::atomic<std::uint64_t> g_memory{0}, g_events{0};

// Only the driver's: a call of the runtime arrives here as well.
void on_enter(SoftgpuCall* call) {
  if (call->domain != SOFTGPU_DRIVER_API) return;
  for (const char* const name : {"cuMemAlloc", "cuMemFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
                                 "cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree"})
    if (std::strncmp(call->name, name, std::strlen(name)) == 0) {
      ++g_memory;
      return;
    }
  if (std::strncmp(call->name, "cuEvent", 7) == 0 || std::strncmp(call->name, "cuStreamWaitEvent", 17) == 0) ++g_events;
}

const SoftgpuObserver kObserver = {
    .enter = on_enter,
    .exit = [](SoftgpuCall*) {},
    .tag = []() -> std::uint64_t { return 0; },
    .memory = [](const SoftgpuMemoryEvent*) {},
    .pool = [](const SoftgpuPoolEvent*) {},
    .work = [](const SoftgpuWorkEvent*) {},
    .created = [](const SoftgpuResourceEvent*) {},
    .destroying = [](const SoftgpuResourceEvent*) {},
};

}  // namespace

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "error: %s: %s\n", what, name);
  std::exit(1);
}

Device::Device(unsigned streams) {
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context_, 0), "cuDevicePrimaryCtxRetain");
  use_context();
  std::size_t free = 0, total = 0;
  check(cuMemGetInfo(&free, &total), "cuMemGetInfo");
  capacity_bytes_ = free;
  streams_.resize(streams);
  for (CUstream& s : streams_) check(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(cuEventCreate(&order_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  before_bytes_ = process_bytes();
}

void Device::use_context() const {
  check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

std::uint64_t Device::reserved_bytes() const {
  return process_bytes() - before_bytes_;
}

void Device::submit(unsigned stream, std::uint64_t address) const {
  check(cuMemsetD8Async(address, 0, 1, streams_[stream]), "cuMemsetD8Async");
}

void Device::put_before(unsigned earlier, unsigned later) {
  check(cuEventRecord(order_, streams_[earlier]), "cuEventRecord");
  check(cuStreamWaitEvent(streams_[later], order_, 0), "cuStreamWaitEvent");
}

void Device::synchronize() const {
  check(cuCtxSynchronize(), "cuCtxSynchronize");
}

void Device::count_calls() {
  g_memory = g_events = 0;
  softgpu_observe(&kObserver);
}

Device::Calls Device::calls() {
  return {.memory = g_memory, .events = g_events};
}

}  // namespace tidemark::bench
