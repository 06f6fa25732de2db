// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/devices.h"

#include <sched.h>

#include <algorithm>
#include <string>

#include "interpose/limit/limit.h"
#include "interpose/real/driver.h"
#include "interpose/record/recorder.h"
#include "interpose/watch/nvml.h"
#include "interpose/watch/sampler.h"

namespace tidemark::interpose {
namespace {

constinit Devices the_devices;

// Below this a question is cheap beside the call that it follows; in ticks, a few microseconds on any machine.
constexpr std::uint64_t kCheapTicks = 1 << 14;
constexpr std::uint64_t kShare = 20;

std::string key(std::uint8_t device, const char* what) {
  return "device." + std::to_string(device) + "." + what;
}

// How much of what is in use before the first block is this process's own: its context. Only a limit needs to know it
// at once; opening NVML takes its time on a card. Where nobody says, the process is taken to be alone.
std::uint64_t context_bytes(std::uint8_t device, std::uint64_t used_bytes) {
  if (limit_bytes() == 0) return used_bytes;
  auto const use = nvml().use(device);
  return use && use->process_bytes != 0 ? use->process_bytes : used_bytes;
}

}  // namespace

Devices& devices() {
  return the_devices;
}

Place current_place() {
  Place place;
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (call(&Driver::cuCtxGetCurrent, &context) == CUDA_SUCCESS && context != nullptr &&
      call(&Driver::cuCtxGetDevice, &device) == CUDA_SUCCESS) {
    place.context = reinterpret_cast<std::uint64_t>(context);
    place.device = static_cast<std::uint8_t>(device);
  }
  return place;
}

Devices::Use Devices::ask() {
  std::size_t free = 0, total = 0;
  trace::Clock const& clock = recorder().file().clock();
  std::uint64_t const begin = clock.now();
  if (call(&Driver::cuMemGetInfo_v2, &free, &total) != CUDA_SUCCESS) return {};
  std::uint64_t const end = clock.now();
  // What a question costs is what the quick ones of late cost: a thread that lost its core in between says nothing.
  std::uint64_t const before = cost_ticks_.load(std::memory_order_relaxed);
  std::uint64_t const cost = before == 0 ? end - begin : std::min(end - begin, before + before / 8 + 1);
  cost_ticks_.store(cost, std::memory_order_relaxed);
  next_ticks_.store(cost > kCheapTicks ? end + kShare * cost : 0, std::memory_order_relaxed);
  return {.used_bytes = total - free, .total_bytes = total, .ok = true};
}

bool Devices::too_soon() {
  std::uint64_t const next = next_ticks_.load(std::memory_order_relaxed);
  if (next == 0 || limit_bytes() != 0 || recorder().file().clock().now() >= next) return false;
  if (!thinned_.exchange(true)) recorder().names().fact("reserved", "sampled");
  return true;
}

void Devices::write_facts(std::uint8_t device, const Use& use) {
  auto& names = recorder().names();
  char name[256] = {};
  CUdevice handle = 0;
  if (call(&Driver::cuDeviceGet, &handle, static_cast<int>(device)) == CUDA_SUCCESS)
    call(&Driver::cuDeviceGetName, name, static_cast<int>(sizeof name - 1), handle);
  names.fact(key(device, "name"), name);
  names.fact(key(device, "total_bytes"), std::to_string(use.total_bytes));
  names.fact(key(device, "baseline_bytes"), std::to_string(use.used_bytes));
  auto const dry_run = reinterpret_cast<int (*)()>(driver_symbol("softgpu_dry_run"));
  names.fact(key(device, "software"), dry_run != nullptr ? "1" : "0");
  if (dry_run != nullptr) names.fact(key(device, "dry_run"), dry_run() != 0 ? "1" : "0");
}

void Devices::meet(std::uint8_t device) {
  State& s = state(device);
  if (s.met.exchange(true, std::memory_order_acq_rel)) return;
  Use const use = ask();
  if (!use.ok) {
    s.met.store(false, std::memory_order_release);
    return;
  }
  s.baseline_bytes.store(use.used_bytes, std::memory_order_relaxed);
  s.overhead_bytes.store(context_bytes(device, use.used_bytes), std::memory_order_relaxed);
  s.total_bytes.store(use.total_bytes, std::memory_order_relaxed);
  write_facts(device, use);
  start_sampler();
}

void Devices::sample(std::uint8_t device) {
  State& s = state(device);
  if (!s.met.load(std::memory_order_acquire) || too_soon()) return;
  // An answer must not be written down after a newer one: one thread asks at a time. The others do not wait for it (it
  // may wait inside the driver for work that needs them) but have it ask once more; only a limit must know at once.
  std::uint32_t asked = s.askers.fetch_add(1, std::memory_order_acq_rel) + 1;
  while (asked > 1) {
    if (limit_bytes() == 0) return;
    s.askers.fetch_sub(1, std::memory_order_acq_rel);
    sched_yield();
    asked = s.askers.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  do look(device);
  while (!s.askers.compare_exchange_strong(asked, 0, std::memory_order_acq_rel));
}

void Devices::look(std::uint8_t device) {
  State& s = state(device);
  Use const use = ask();
  if (!use.ok) return;
  std::uint64_t const baseline = s.baseline_bytes.load(std::memory_order_relaxed);
  std::uint64_t const reserved = use.used_bytes > baseline ? use.used_bytes - baseline : 0;
  std::uint64_t const before = s.reserved_bytes.exchange(reserved, std::memory_order_relaxed);
  if (reserved == before) return;
  recorder().reserved_changed(reserved - before);
  recorder().device_use({.device = device,
                         .source = trace::DeviceUse::Driver,
                         .used_bytes = use.used_bytes,
                         .total_bytes = use.total_bytes,
                         .process_bytes = reserved});
}

void Devices::begin_overhead(std::uint8_t device) {
  if (known(device)) sample(device);
}

void Devices::end_overhead(std::uint8_t device) {
  State& s = state(device);
  if (!known(device)) return;
  Use const use = ask();
  if (!use.ok) return;
  std::uint64_t const accounted =
      s.baseline_bytes.load(std::memory_order_relaxed) + s.reserved_bytes.load(std::memory_order_relaxed);
  // What a module takes while another thread allocates cannot be told apart; the next sample puts the sum right.
  s.baseline_bytes.fetch_add(use.used_bytes - accounted, std::memory_order_relaxed);
  s.overhead_bytes.fetch_add(use.used_bytes - accounted, std::memory_order_relaxed);
}

}  // namespace tidemark::interpose
