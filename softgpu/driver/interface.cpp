// SPDX-License-Identifier: Apache-2.0
// The functions of softgpu/interface/softgpu.h.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/operation.h"
#include "softgpu/queue/workers.h"

#pragma GCC visibility push(default)
#include "softgpu/interface/softgpu.h"
#pragma GCC visibility pop

using namespace tidemark;
using namespace tidemark::softgpu;

void tidemark::softgpu::device_uuid(int ordinal, unsigned char out[16]) {
  constexpr std::string_view kName = "softgpu-device";
  std::copy(kName.begin(), kName.end(), out);
  out[14] = 0;
  out[15] = static_cast<unsigned char>(ordinal);
}

namespace {

// Before cuInit there is no device yet; another process may hold the capacity all the same.
Ledger* ledger_of(Driver& driver, int ordinal) {
  if (driver.initialised) return driver.devices[static_cast<std::size_t>(ordinal)]->ledger.get();
  static auto& early = *new std::map<int, std::unique_ptr<Ledger>>;
  auto& ledger = early[ordinal];
  if (ledger == nullptr)
    if (auto opened = Ledger::open(driver.config.memory, driver.config.share, ordinal); opened.ok())
      ledger = std::move(*opened);
  return ledger.get();
}

bool is_ordinal(const Driver& driver, int ordinal) {
  return ordinal >= 0 && ordinal < driver.config.device_count;
}

std::uint64_t context_bytes(Driver& driver, int ordinal) {
  std::uint64_t bytes = 0;
  driver.contexts.for_each([&](CUctx_st& context) {
    if (context.charged && context.device->ordinal == ordinal) bytes += driver.config.context_overhead.n;
  });
  return bytes;
}

void range(const void* address, size_t bytes, uint64_t generation, CUstream handle, bool queued) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->checker == nullptr || driver->forked) return;
  auto const at = reinterpret_cast<std::uintptr_t>(address);
  if (!queued) {
    Lock const lock(driver->engine.mutex());
    driver->checker->overlay(Checker::View::Both, at, bytes, generation, driver->checker->overlay_at(at));
    return;
  }
  with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    MemoryOp op{.address = at, .bytes = bytes, .generation = generation, .overlay = true};
    op.frees = driver->checker->overlay_at(at);
    driver->checker->overlay(Checker::View::Host, at, bytes, generation);
    return issue(call, stream, std::move(op));
  });
}

}  // namespace

int softgpu_submit(void* handle, const SoftgpuWork* work) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, static_cast<CUstream>(handle));
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (work == nullptr || work->run == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const* const bytes = static_cast<const std::byte*>(work->args);
    LibraryOp op{.name = work->name,
                 .run = work->run,
                 .args = std::make_shared<std::vector<std::byte>>(bytes, bytes + work->args_bytes)};
    for (std::size_t i = 0; i < work->touch_count; ++i)
      if (work->touches[i].bytes != 0)
        op.touches.push_back({.address = work->touches[i].address,
                              .bytes = work->touches[i].bytes,
                              .writes = work->touches[i].writes != 0});
    return issue(call, stream, std::move(op));
  });
}

int softgpu_dry_run(void) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return 0;
  Lock const lock(driver->engine.mutex());
  return driver->initialised ? driver->dry_run : driver->config.run_mode == RunMode::DryRun;
}

int softgpu_workers(void) {
  Driver* const driver = Driver::configured();
  return driver != nullptr ? driver->config.workers : 1;
}

void softgpu_parallel(int threads, uint64_t count, uint64_t grain, void (*body)(void*, uint64_t, uint64_t),
                      void* state) {
  parallel_for(count, std::max<uint64_t>(1, grain), threads,
               [=](std::uint64_t first, std::uint64_t last) { body(state, first, last); });
}

void softgpu_range(const void* address, size_t bytes, uint64_t generation) {
  range(address, bytes, generation, nullptr, false);
}

void softgpu_range_async(const void* address, size_t bytes, uint64_t generation, void* stream) {
  range(address, bytes, generation, static_cast<CUstream>(stream), true);
}

uint64_t softgpu_check_reports(void) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->checker == nullptr || driver->forked) return 0;
  Lock const lock(driver->engine.mutex());
  return driver->checker->reports();
}

int softgpu_device_count(void) {
  Driver* const driver = Driver::configured();
  return driver != nullptr ? driver->config.device_count : 0;
}

int softgpu_driver_version(void) {
  Driver* const driver = Driver::configured();
  return driver != nullptr ? driver->config.driver_version : CUDA_VERSION;
}

int softgpu_device_info(int ordinal, SoftgpuDeviceInfo* out) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || !is_ordinal(*driver, ordinal)) return CUDA_ERROR_INVALID_VALUE;
  Lock const lock(driver->engine.mutex());
  Ledger* const ledger = ledger_of(*driver, ordinal);
  if (ledger == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  Ledger::Usage const usage = ledger->usage();
  Profile const& profile = *driver->config.profile;
  *out = {};
  std::snprintf(out->name, sizeof out->name, "%s", driver->config.device_name().c_str());
  std::snprintf(out->profile, sizeof out->profile, "%s", std::string(profile.name).c_str());
  device_uuid(ordinal, out->uuid);
  out->total_bytes = usage.capacity_bytes;
  out->used_bytes = usage.used_bytes;
  out->process_bytes = usage.process_bytes;
  out->context_bytes = context_bytes(*driver, ordinal);
  out->compute_major = profile.capacity_only() ? 7 : profile.compute_major;
  out->compute_minor = profile.capacity_only() ? 5 : profile.compute_minor;
  out->sm_count = profile.sm_count;
  out->pci_bus = ordinal + 1;
  return CUDA_SUCCESS;
}

int softgpu_processes(int ordinal, SoftgpuProcessInfo* out, int capacity, int* count) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (count == nullptr || !is_ordinal(*driver, ordinal)) return CUDA_ERROR_INVALID_VALUE;
  Lock const lock(driver->engine.mutex());
  Ledger* const ledger = ledger_of(*driver, ordinal);
  if (ledger == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  auto const list = ledger->processes();
  *count = static_cast<int>(list.size());
  for (int i = 0; i < capacity && i < *count && out != nullptr; ++i)
    out[i] = {list[static_cast<std::size_t>(i)].pid, list[static_cast<std::size_t>(i)].used_bytes};
  return CUDA_SUCCESS;
}
