// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/devices.h"

#include <algorithm>
#include <string>

#include "interpose/limit/gate.h"
#include "interpose/limit/limit.h"
#include "interpose/real/driver.h"
#include "interpose/real/primary.h"
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

// The driver tells what is in use on the current device alone.
Devices::Use Devices::ask(std::uint8_t device) {
  CUdevice current = -1;
  if (call(&Driver::cuCtxGetDevice, &current) == CUDA_SUCCESS && current == CUdevice{device}) return ask_current();
  Use use;
  if (primary_is_active(CUdevice{device})) with_primary(CUdevice{device}, [&] { use = ask_current(); });
  return use;
}

Devices::Use Devices::ask_current() {
  std::size_t free = 0, total = 0;
  trace::Clock const& clock = recorder().file().clock();
  std::uint64_t const begin = clock.now();
  if (call(&Driver::cuMemGetInfo_v2, &free, &total) != CUDA_SUCCESS) return {};
  std::uint64_t const end = clock.now();
  if (end - begin > kCheapTicks) next_ticks_.store(end + kShare * (end - begin), std::memory_order_relaxed);
  return {.used_bytes = total - free, .total_bytes = total, .ok = true};
}

bool Devices::too_soon() {
  std::uint64_t const next = next_ticks_.load(std::memory_order_relaxed);
  if (next == 0 || recorder().file().clock().now() >= next) return false;
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
  Use const use = ask(device);
  if (!use.ok) {
    s.met.store(false, std::memory_order_release);
    return;
  }
  // Blocks that have outlived every context are in use already. As long as it can be so, what is in use beside blocks
  // is as it was before those contexts ended; otherwise the blocks are taken to need no more than their own bytes.
  std::uint64_t const live = std::min(get(s.live_bytes), use.used_bytes);
  std::uint64_t baseline = live == 0 ? use.used_bytes : get(s.baseline_bytes);
  if (use.used_bytes < baseline || use.used_bytes - baseline < live) baseline = use.used_bytes - live;
  s.baseline_bytes.store(baseline, std::memory_order_relaxed);
  s.overhead_bytes.store(context_bytes(device, use.used_bytes) - (use.used_bytes - baseline),
                         std::memory_order_relaxed);
  set_reserved(device, use.used_bytes - baseline);
  s.total_bytes.store(use.total_bytes, std::memory_order_relaxed);
  write_facts(device, use);
  start_sampler();
}

void Devices::sample(std::uint8_t device) {
  if (!known(device) || too_soon()) return;
  if (Use const use = ask(device); use.ok) seen(device, use);
}

void Devices::sample_current(std::uint8_t device) {
  if (!known(device) || too_soon()) return;
  if (Use const use = ask_current(); use.ok) seen(device, use);
}

std::uint64_t Devices::measure(std::uint8_t device) {
  if (!known(device)) return overhead_bytes(device) + live_bytes(device);
  Use const use = ask(device);
  if (!use.ok) return std::max(taken_bytes(device), overhead_bytes(device) + live_bytes(device));
  seen(device, use);
  // Not what is kept, where another thread may just have put an older figure.
  std::uint64_t const baseline = get(state(device).baseline_bytes);
  return overhead_bytes(device) + (use.used_bytes > baseline ? use.used_bytes - baseline : 0);
}

bool Devices::set_reserved(std::uint8_t device, std::uint64_t bytes) {
  std::uint64_t const before = state(device).reserved_bytes.exchange(bytes, std::memory_order_relaxed);
  if (bytes > before) spoil_credit(device, overhead_bytes(device) + bytes);
  if (bytes != before) recorder().reserved_changed(bytes - before);
  return bytes != before;
}

void Devices::seen(std::uint8_t device, const Use& use) {
  std::uint64_t const baseline = get(state(device).baseline_bytes);
  std::uint64_t const reserved = use.used_bytes > baseline ? use.used_bytes - baseline : 0;
  if (!set_reserved(device, reserved)) return;
  recorder().device_use({.device = device,
                         .source = trace::DeviceUse::Driver,
                         .used_bytes = use.used_bytes,
                         .total_bytes = use.total_bytes,
                         .process_bytes = reserved});
}

void Devices::begin_overhead(std::uint8_t device) {
  if (known(device)) sample(device);
}

std::uint64_t Devices::end_overhead(std::uint8_t device) {
  State& s = state(device);
  if (!known(device)) return 0;
  Use const use = ask(device);
  if (!use.ok) return 0;
  // What a module takes while another thread allocates cannot be told apart; the next sample puts the sum right.
  std::uint64_t const taken = use.used_bytes - get(s.baseline_bytes) - get(s.reserved_bytes);
  s.baseline_bytes.fetch_add(taken, std::memory_order_relaxed);
  s.overhead_bytes.fetch_add(taken, std::memory_order_relaxed);
  spoil_credit(device, taken_bytes(device));
  return taken;
}

void Devices::give_back(std::uint8_t device, std::uint64_t overhead_bytes) {
  State& s = state(device);
  s.baseline_bytes.fetch_sub(overhead_bytes, std::memory_order_relaxed);
  s.overhead_bytes.fetch_sub(overhead_bytes, std::memory_order_relaxed);
}

void Devices::forget(std::uint8_t device) {
  State& s = state(device);
  if (!s.met.exchange(false, std::memory_order_acq_rel)) return;
  s.overhead_bytes.store(0, std::memory_order_relaxed);
  set_reserved(device, live_bytes(device));
}

}  // namespace tidemark::interpose
