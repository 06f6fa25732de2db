// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/sampler.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/quietly.h"
#include "interpose/process/process.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/mode.h"
#include "interpose/serve/serve.h"
#include "interpose/watch/nvml.h"
#include "interpose/watch/watcher.h"

namespace tidemark::interpose {
namespace {

constexpr std::uint64_t kPeriodNs = 100'000'000;

constinit std::atomic<bool> begun{false}, has_nvml{false};
constinit Notice stopping, stopped;

struct Seen {
  std::uint64_t used_bytes = 0, process_bytes = 0;
  bool context_known = false;
};

// What this process holds beside its blocks: its context. Told once, at a moment in which the blocks did not change.
void tell_context(std::uint8_t device, Seen& seen, std::uint64_t reserved_before, const Nvml::Use& use) {
  std::uint64_t const reserved = devices().reserved_bytes(device);
  if (seen.context_known || use.process_bytes < reserved || reserved != reserved_before) return;
  seen.context_known = true;
  recorder().names().fact("device." + std::to_string(device) + ".context_bytes",
                          std::to_string(use.process_bytes - reserved));
}

constinit std::array<Seen, Devices::kMost> before{};

void sample() {
  for (std::size_t i = 0; i < Devices::kMost; ++i) {
    auto const device = static_cast<std::uint8_t>(i);
    if (!devices().known(device)) continue;
    std::uint64_t const reserved = devices().reserved_bytes(device);
    auto const use = nvml().use(device);
    if (use) tell_context(device, before[i], reserved, *use);
    // A sample that says nothing new is not written: days of idling cost nothing.
    if (!use || (before[i].used_bytes == use->used_bytes && before[i].process_bytes == use->process_bytes)) continue;
    before[i].used_bytes = use->used_bytes;
    before[i].process_bytes = use->process_bytes;
    recorder().device_use({.device = device,
                           .source = trace::DeviceUse::Nvml,
                           .used_bytes = use->used_bytes,
                           .total_bytes = use->total_bytes,
                           .process_bytes = use->process_bytes});
  }
}

void run() {
  while (!stopping.is_given() && recording() && !program_has_left()) {
    if (has_nvml.load(std::memory_order_relaxed)) shield([] { sample(); });
    stopping.wait_for(kPeriodNs);
  }
  if (program_has_left()) serve::end_searches();
  stopped.give();
}

}  // namespace

void start_sampler() {
  if (begun.exchange(true)) return;
  // What NVML opens, it opens here, in the program's own call, and not behind its back.
  Quietly const quietly;
  bool const open = nvml().open();
  recorder().names().fact("nvml", nvml().why());
  // Where plans may be searched for, somebody has to see that the program has left.
  if (!open && !serve::serving()) return stopped.give();
  has_nvml.store(open, std::memory_order_relaxed);
  if (open) sample();
  if (!start_watcher(run)) stopped.give();
}

void stop_sampler() {
  if (!begun.load() || !recording()) return;
  stopping.give();
  stopped.wait_for(kPeriodNs);
}

}  // namespace tidemark::interpose
