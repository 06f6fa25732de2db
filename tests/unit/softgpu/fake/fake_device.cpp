// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/softgpu/fake/fake_device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#pragma GCC visibility push(default)
#include <cuda.h>

namespace fake {
namespace {

std::vector<std::function<void()>>& pending() {
  static std::vector<std::function<void()>> work;
  return work;
}
CUcontext current = nullptr;

}  // namespace

State& state() {
  static State instance;
  return instance;
}

void run_pending() {
  auto const work = std::move(pending());
  pending().clear();
  for (auto const& item : work) item();
}

}  // namespace fake

extern "C" {

int softgpu_submit(void* stream, const SoftgpuWork* work) {
  auto& s = fake::state();
  if (s.submit_result != 0) return s.submit_result;
  s.queued.push_back({work->name, stream, {work->touches, work->touches + work->touch_count}});
  if (s.dry_run) return 0;
  // One byte off: the contract promises no alignment.
  std::vector<char> args(1);
  args.insert(args.end(), static_cast<const char*>(work->args),
              static_cast<const char*>(work->args) + work->args_bytes);
  auto item = [run = work->run, args]() mutable {
    ++fake::state().runs;
    run(args.data() + 1);
  };
  if (s.deferred) {
    fake::pending().push_back(item);
  } else {
    item();
  }
  return 0;
}
int softgpu_dry_run(void) {
  return fake::state().dry_run;
}
int softgpu_workers(void) {
  return 2;
}
void softgpu_parallel(int threads, std::uint64_t count, std::uint64_t grain,
                      void (*body)(void*, std::uint64_t, std::uint64_t), void* state) {
  std::vector<std::thread> helpers;
  auto const pieces = std::min<std::uint64_t>(static_cast<std::uint64_t>(threads), (count + grain - 1) / grain);
  for (std::uint64_t i = 1; i < pieces; ++i)
    helpers.emplace_back([=] { body(state, count * i / pieces, count * (i + 1) / pieces); });
  if (pieces > 0) body(state, 0, count / pieces);
  for (std::thread& helper : helpers) helper.join();
}
int softgpu_device_count(void) {
  return fake::state().device_count;
}
int softgpu_driver_version(void) {
  return 13000;
}

int softgpu_device_info(int device, SoftgpuDeviceInfo* out) {
  auto const& s = fake::state();
  if (device < 0 || device >= s.device_count) return CUDA_ERROR_INVALID_DEVICE;
  *out = {};
  std::snprintf(out->name, sizeof out->name, "SoftGPU fake %d (software device)", device);
  std::snprintf(out->profile, sizeof out->profile, "fake");
  for (int i = 0; i < 16; ++i) out->uuid[i] = static_cast<unsigned char>(i * 16 + device);
  out->total_bytes = s.total_bytes;
  out->used_bytes = s.used_bytes;
  out->compute_major = 8;
  out->compute_minor = 6;
  out->sm_count = 28;
  out->pci_bus = 3 + device;
  out->pci_device = 1;
  return 0;
}

int softgpu_processes(int device, SoftgpuProcessInfo* out, int capacity, int* count) {
  auto const& s = fake::state();
  if (device < 0 || device >= s.device_count) return CUDA_ERROR_INVALID_DEVICE;
  *count = static_cast<int>(s.processes.size());
  for (int i = 0; i < capacity && i < *count; ++i) out[i] = s.processes[static_cast<std::size_t>(i)];
  return 0;
}

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = fake::current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  fake::current = context;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static int primary;
  *context = reinterpret_cast<CUcontext>(&primary);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  fake::run_pending();
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  auto const* source = copy->srcMemoryType == CU_MEMORYTYPE_HOST ? static_cast<const char*>(copy->srcHost)
                                                                 : reinterpret_cast<const char*>(copy->srcDevice);
  auto* target = copy->dstMemoryType == CU_MEMORYTYPE_HOST ? static_cast<char*>(copy->dstHost)
                                                           : reinterpret_cast<char*>(copy->dstDevice);
  for (std::size_t row = 0; row < copy->Height; ++row)
    std::memcpy(target + row * copy->dstPitch, source + row * copy->srcPitch, copy->WidthInBytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream) {
  return cuMemcpy2DUnaligned_v2(copy);
}

}  // extern "C"
