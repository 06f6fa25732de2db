// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/devices.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/log.h"
#include "base/quietly.h"
#include "interpose/limit/gate.h"
#include "interpose/limit/limit.h"
#include "interpose/real/driver.h"
#include "interpose/real/primary.h"
#include "interpose/record/contexts.h"
#include "interpose/record/pools.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/serve.h"
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
  Use use;
  CUdevice current = -1;
  if (call(&Driver::cuCtxGetDevice, &current) == CUDA_SUCCESS && current == CUdevice{device}) use = ask_current();
  if (use.ok) return use;
  // Another device is current, or a context that has ended.
  if (primary_is_active(CUdevice{device})) {
    with_primary(CUdevice{device}, [&] { use = ask_current(); });
  } else if (std::uint64_t const made = contexts().any(device); made != 0) {
    with_context(reinterpret_cast<CUcontext>(made), [&] { use = ask_current(); });
  }
  return use;
}

Devices::Use Devices::ask_current() {
  std::size_t free = 0, total = 0;
  trace::Clock const& clock = recorder().file().clock();
  std::uint64_t const begin = clock.now();
  if (call(&Driver::cuMemGetInfo_v2, &free, &total) != CUDA_SUCCESS) return {};
  note_cost(begin, clock.now());
  return {.used_bytes = total - free, .total_bytes = total, .ok = true};
}

// One that was interrupted says nothing about the others: the cost is what it usually is, and grows by twice at most.
void Devices::note_cost(std::uint64_t begin_ticks, std::uint64_t end_ticks) {
  std::uint64_t const before = cost_ticks_.load(std::memory_order_relaxed);
  std::uint64_t const took = end_ticks - begin_ticks;
  std::uint64_t const cost = before == 0 ? std::min(took, kCheapTicks / 16) : std::min(took, 2 * before);
  cost_ticks_.store(cost, std::memory_order_relaxed);
  if (cost > kCheapTicks) next_ticks_.store(end_ticks + kShare * cost, std::memory_order_relaxed);
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

// What can be told without a context, and needs none: pools, those of graphs too, and physical memory, ours included.
// All other blocks end with the last context.
std::uint64_t Devices::outliving_bytes(std::uint8_t device) const {
  cuuint64_t graphs = 0;
  call(&Driver::cuDeviceGetGraphMemAttribute, CUdevice{device}, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
       static_cast<void*>(&graphs));
  std::uint64_t bytes = graphs + pools().reserved_bytes(device) + serve::mapped_bytes(device);
  recorder().registry().for_each(trace::Space::Physical, [&](std::uint64_t, const Owned& block) {
    if (block.device == device) bytes += block.size_bytes;
  });
  return bytes;
}

void Devices::meet(std::uint8_t device) {
  if (known(device)) return;
  State& s = state(device);
  Use use;
  {
    Quietly const quietly;
    std::scoped_lock const guard(s.asking);
    if (known(device)) return;
    use = ask(device);
    if (!use.ok) return;
    std::uint64_t const baseline = use.used_bytes - std::min(outliving_bytes(device), use.used_bytes);
    s.baseline_bytes.store(baseline, std::memory_order_relaxed);
    s.overhead_bytes.store(context_bytes(device, use.used_bytes) - (use.used_bytes - baseline),
                           std::memory_order_relaxed);
    s.total_bytes.store(use.total_bytes, std::memory_order_relaxed);
    seen(device, use);
    s.met.store(true, std::memory_order_release);
  }
  write_facts(device, use);
  if (use.total_bytes != 0 && limit_bytes() > use.total_bytes)
    say_once("limit", "tidemark",
             "the limit of " + format_bytes({limit_bytes()}) + " is more than device " + std::to_string(device) +
                 " has (" + format_bytes({use.total_bytes}) + "): it changes nothing");
  start_sampler();
}

// Whoever finds another one asking leaves it to him to ask once more, before he goes.
template <class Ask>
void Devices::catch_up(std::uint8_t device, Ask ask_it) {
  State& s = state(device);
  Quietly const quietly;
  while (s.stale.load() && s.asking.try_lock()) {
    std::scoped_lock const guard(std::adopt_lock, s.asking);
    s.stale.store(false);
    if (Use const use = known(device) ? ask_it() : Use{}; use.ok) seen(device, use);
  }
}

void Devices::sample(std::uint8_t device) {
  if (!known(device)) return infer(device);
  if (too_soon()) return;
  state(device).stale.store(true);
  catch_up(device, [&] { return ask(device); });
}

void Devices::sample_current(std::uint8_t device) {
  if (!known(device) || too_soon()) return;
  state(device).stale.store(true);
  catch_up(device, [&] { return ask_current(); });
}

void Devices::sample_all() {
  for (std::size_t i = 0; i < kMost; ++i)
    if (auto const device = static_cast<std::uint8_t>(i); known(device)) sample(device);
}

std::uint64_t Devices::measure(std::uint8_t device) {
  if (!known(device)) return overhead_bytes(device) + live_bytes(device);
  std::uint64_t taken = 0;
  {
    Quietly const quietly;
    std::scoped_lock const guard(state(device).asking);
    Use const use = ask(device);
    if (use.ok) seen(device, use);
    taken = use.ok ? taken_bytes(device) : std::max(taken_bytes(device), overhead_bytes(device) + live_bytes(device));
  }
  catch_up(device, [&] { return ask(device); });
  return taken;
}

void Devices::set_reserved(std::uint8_t device, std::uint64_t bytes, const Use& use) {
  std::uint64_t const before = state(device).reserved_bytes.exchange(bytes, std::memory_order_relaxed);
  if (bytes == before) return;
  if (bytes > before) spoil_credit(device, overhead_bytes(device) + bytes);
  recorder().reserved_changed(bytes - before);
  recorder().device_use({.device = device,
                         .source = trace::DeviceUse::Driver,
                         .used_bytes = use.used_bytes,
                         .total_bytes = use.total_bytes,
                         .process_bytes = bytes});
}

void Devices::seen(std::uint8_t device, const Use& use) {
  std::uint64_t const baseline = get(state(device).baseline_bytes);
  set_reserved(device, use.used_bytes > baseline ? use.used_bytes - baseline : 0, use);
}

// Without a context nobody can be asked what is in use; then what is known of the blocks must do.
void Devices::infer(std::uint8_t device) {
  State const& s = state(device);
  std::uint64_t const bytes = outliving_bytes(device);
  set_reserved(device, bytes, {.used_bytes = get(s.others_bytes) + bytes, .total_bytes = get(s.total_bytes)});
}

void Devices::begin_overhead(std::uint8_t device) {
  // However dear it is: blocks that are not seen now would be overhead for good.
  if (known(device)) measure(device);
}

std::uint64_t Devices::end_overhead(std::uint8_t device) {
  State& s = state(device);
  if (!known(device)) return 0;
  std::uint64_t taken = 0;
  {
    Quietly const quietly;
    std::scoped_lock const guard(s.asking);
    // What a module takes while another thread allocates cannot be told apart; the next sample puts the sum right.
    if (Use const use = ask(device); use.ok) taken = use.used_bytes - get(s.baseline_bytes) - get(s.reserved_bytes);
    s.baseline_bytes.fetch_add(taken, std::memory_order_relaxed);
    s.overhead_bytes.fetch_add(taken, std::memory_order_relaxed);
    spoil_credit(device, taken_bytes(device));
  }
  catch_up(device, [&] { return ask(device); });
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
  s.others_bytes.store(get(s.baseline_bytes) - s.overhead_bytes.exchange(0), std::memory_order_relaxed);
  infer(device);
}

}  // namespace tidemark::interpose
