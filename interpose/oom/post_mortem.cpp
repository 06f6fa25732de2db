// SPDX-License-Identifier: Apache-2.0
#include "interpose/oom/post_mortem.h"

#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/bytes.h"
#include "base/log.h"
#include "base/spin_lock.h"
#include "interpose/limit/limit.h"
#include "interpose/oom/owners.h"
#include "interpose/oom/page.h"
#include "interpose/oom/verdict.h"
#include "interpose/real/driver.h"
#include "interpose/record/devices.h"
#include "interpose/record/layer_name.h"
#include "interpose/record/pools.h"
#include "interpose/record/recorder.h"
#include "interpose/record/thread.h"
#include "interpose/scope/marks.h"
#include "interpose/serve/usage.h"
#include "interpose/stack/stacks.h"
#include "interpose/watch/nvml.h"

namespace tidemark::interpose {
namespace {

constexpr std::uint64_t kPauseNs = 1'000'000'000;

// Whether a second has passed since the last one was said.
bool may_speak() {
  static constinit std::atomic<std::uint64_t> next{0};
  std::uint64_t const now = trace::monotonic_now_ns();
  std::uint64_t due = next.load(std::memory_order_relaxed);
  return now >= due && next.compare_exchange_strong(due, now + kPauseNs, std::memory_order_relaxed);
}

std::string size(std::uint64_t bytes) {
  return format_bytes({bytes});  // short enough to need no memory
}

// What neither this program's blocks nor its own context hold. Where NVML does not tell, everything that was there
// before the first block counts as the context.
std::uint64_t others_bytes(std::uint8_t device, std::uint64_t used) {
  auto const use = nvml().use(device);
  std::uint64_t const own = use && use->process_bytes != 0
                                ? use->process_bytes
                                : devices().reserved_bytes(device) + devices().overhead_bytes(device);
  return used > own ? used - own : 0;
}

Shortage measure(const Refusal& refusal) {
  std::size_t free = 0, total = 0;
  if (refusal.has_context) call(&Driver::cuMemGetInfo_v2, &free, &total);
  Capacity const seen = limited({.free_bytes = free, .total_bytes = total}, devices().taken_bytes(refusal.device));
  return {.wanted_bytes = refusal.size_bytes,
          .total_bytes = seen.total_bytes,
          .free_bytes = seen.free_bytes,
          .live_bytes = devices().live_bytes(refusal.device),
          .reserved_bytes = devices().reserved_bytes(refusal.device),
          .cached_bytes = pools().idle_bytes(refusal.device) + serve::kept_bytes(refusal.device),
          .others_bytes = others_bytes(refusal.device, total - free)};
}

// A limit larger than the card is none.
bool set_by_limit(const Shortage& s) {
  return limit_bytes() != 0 && s.total_bytes == limit_bytes();
}
// The context alone is more than was allowed: no block can ever be had.
bool limit_below_context(const Refusal& refusal, const Shortage& s) {
  return set_by_limit(s) && devices().overhead_bytes(refusal.device) >= s.total_bytes;
}

void write_request(Page& page, const Refusal& refusal, const Shortage& s) {
  Marks* const marks = this_thread().marks;
  LayerName const layer(marks == nullptr ? 0 : marks->path(recorder().names()));
  trace::Phase const phase = marks == nullptr ? trace::Phase::Other : marks->phase();
  page.line("out of memory on device %u (%s%s)", refusal.device, size(s.total_bytes).c_str(),
            set_by_limit(s) ? ", set by the limit" : "");
  page.line("  wanted    %s by %s in %s, phase %.*s", size(s.wanted_bytes).c_str(), refusal.call, layer.text,
            static_cast<int>(trace::name(phase).size()), trace::name(phase).data());
  page.line("  there is  %s free; this program's blocks: %s live, %s reserved; its context %s; other processes %s",
            size(s.free_bytes).c_str(), size(s.live_bytes).c_str(), size(s.reserved_bytes).c_str(),
            size(devices().overhead_bytes(refusal.device)).c_str(), size(s.others_bytes).c_str());
}

void write_verdict(Page& page, const Refusal& refusal, const Shortage& s) {
  if (limit_below_context(refusal, s))
    return page.line("  verdict   the limit is smaller than the context: %s of it, before the first block",
                     size(devices().overhead_bytes(refusal.device)).c_str());
  switch (judge(s)) {
    case Verdict::TooLarge:
      page.line("  verdict   too large: one block of %s can never fit on this device", size(s.wanted_bytes).c_str());
      break;
    case Verdict::Fragmentation:
      page.line("  verdict   fragmentation: %s reserved but not in use, and %s free, in pieces too small for %s",
                size(s.cached_bytes).c_str(), size(s.free_bytes).c_str(), size(s.wanted_bytes).c_str());
      break;
    case Verdict::Others:
      page.line("  verdict   other processes hold the device: %s are theirs", size(s.others_bytes).c_str());
      break;
    case Verdict::Shortage:
      page.line("  verdict   shortage: %s more than there is", size(short_bytes(s)).c_str());
      break;
    case Verdict::Refused:
      page.line("  verdict   refused: the driver said no although %s is free", size(s.free_bytes).c_str());
      break;
  }
  if (rounding_bytes(s) >= s.reserved_bytes / 10 && rounding_bytes(s) != 0)
    page.line("  rounding  %s of what is reserved: the driver gives whole granules, and small blocks do not fill them",
              size(rounding_bytes(s)).c_str());
}

// Of served memory it is known who stands between which free ranges.
void write_pins(Page& page, const Refusal& refusal, const Shortage& s) {
  constexpr std::size_t kMost = 3;
  if (!serve::has_caches() || judge(s) == Verdict::TooLarge) return;
  std::uint64_t const kept = serve::kept_bytes(refusal.device);
  if (kept == 0) return;
  page.line("  cache     %s kept free, the largest piece %s", size(kept).c_str(),
            size(serve::largest_hole_bytes(refusal.device)).c_str());
  serve::for_each_pin(refusal.device, kMost, [&](const allocator::Pin& pin) {
    if (pin.given_back_bytes == 0) return;
    auto const owner = recorder().registry().find(trace::Space::Memory, pin.address);
    page.line("    %10s  of %s stand between %s and %s that are free: without them %s could serve",
              size(pin.block_bytes).c_str(), LayerName(owner ? owner->path : 0).text, size(pin.before_bytes).c_str(),
              size(pin.after_bytes).c_str(), size(pin.given_back_bytes).c_str());
  });
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

template <std::size_t n>
void write_sums(Page& page, const char* title, const std::array<std::uint64_t, n>& sums,
                const std::array<std::string_view, n>& names, std::uint64_t whole) {
  char row[256] = {};
  int at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (sums[i] == 0) continue;
    at += snprintf(row + at, sizeof row - static_cast<std::size_t>(at), "%s%.*s %s (%.0f %%)", at == 0 ? "" : ", ",
                   static_cast<int>(names[i].size()), names[i].data(), size(sums[i]).c_str(), percent(sums[i], whole));
    if (static_cast<std::size_t>(at) >= sizeof row) break;
  }
  if (at > 0) page.line("  %-9s %s", title, row);
}

void write_owners(Page& page, const Owners& owners) {
  if (owners.live_bytes == 0) return;
  page.line("  largest owners, of %s live:", size(owners.live_bytes).c_str());
  for (LayerSum const& layer : owners.layers)
    if (layer.live_bytes != 0)
      page.line("    %10s  %4.1f %%  %s (%llu %s)", size(layer.live_bytes).c_str(),
                percent(layer.live_bytes, owners.live_bytes), LayerName(layer.path).text,
                static_cast<unsigned long long>(layer.blocks), layer.blocks == 1 ? "block" : "blocks");
  if (owners.other_layers_bytes != 0)
    page.line("    %10s  %4.1f %%  all other layers", size(owners.other_layers_bytes).c_str(),
              percent(owners.other_layers_bytes, owners.live_bytes));
  write_sums(page, "by kind", owners.kinds, trace::kKindNames, owners.live_bytes);
  write_sums(page, "by phase", owners.phases, trace::kPhaseNames, owners.live_bytes);
}

bool has_layers(const Owners& owners) {
  return std::any_of(owners.layers.begin(), owners.layers.end(),
                     [](const LayerSum& l) { return l.live_bytes != 0 && l.path != 0; });
}

void write_advice(Page& page, const Refusal& refusal, const Shortage& s, const Owners& owners) {
  auto const kind = [&](trace::Kind k) { return owners.kinds[static_cast<std::size_t>(k)]; };
  page.line("  what to try");
  if (limit_below_context(refusal, s)) return page.line("    - a larger limit: it counts what the context takes");
  if (rounding_bytes(s) >= short_bytes(s) && rounding_bytes(s) >= s.reserved_bytes / 10 && rounding_bytes(s) != 0)
    page.line("    - fewer and larger blocks, divided by the program itself: each block takes whole granules of 2 MiB");
  switch (judge(s)) {
    case Verdict::TooLarge:
      page.line("    - split the block: a smaller batch, chunks of the loss or of the logits");
      break;
    case Verdict::Fragmentation:
      page.line(
          "    - PyTorch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; other programs: allocate large blocks "
          "first, and keep them");
      page.line("    - a batch slightly smaller, of a constant size from step to step");
      break;
    case Verdict::Others: page.line("    - see who they are with nvidia-smi, and end or move them"); break;
    case Verdict::Shortage:
      if (2 * kind(trace::Kind::Activation) >= owners.live_bytes)
        page.line(
            "    - activations are the most of it: checkpointing, mixed precision, a smaller batch with accumulation");
      else if (3 * kind(trace::Kind::Optimizer) >= owners.live_bytes)
        page.line("    - the optimizer's state is large: a leaner optimizer (8-bit Adam, Adafactor, plain momentum)");
      else
        page.line("    - a smaller batch with gradient accumulation; mixed precision; checkpointing%s",
                  has_layers(owners) ? " of the largest layers" : "");
      break;
    case Verdict::Refused:
      page.line("    - look for a quota: MPS or MIG, a container's limits; on the software device, SOFTGPU_FAULT");
      page.line("    - try again: another process may have held the memory at that instant");
      break;
  }
}

// Where to look next. It is for the one who reads it now: a report says it in its own way.
void write_pointers(Page& page, const Owners& owners) {
  const char* const path = recorder().file().path();
  if (owners.live_bytes != 0) page.line("    - what was alive, and since when: tidemark report %s", path);
  if (has_layers(owners)) return;
  if (stacks().on())
    page.line("    - where it was allocated: tidemark report %s --by stack", path);
  else
    page.line("    - where it was allocated: tidemark run --stacks ..., then tidemark report --by stack");
  page.line("    - whose it is: NVTX ranges, or tidemark_push (tidemark/tidemark.h), in the program name its layers");
}

}  // namespace

void report_refusal(const Refusal& refusal) {
  Shortage const shortage = measure(refusal);
  Page page;
  std::size_t kept = 0;  // of the page, in the trace
  if (may_speak()) {
    Owners const owners = find_owners(refusal.device);
    write_request(page, refusal, shortage);
    write_verdict(page, refusal, shortage);
    write_pins(page, refusal, shortage);
    write_owners(page, owners);
    write_advice(page, refusal, shortage, owners);
    kept = page.text().size();
    write_pointers(page, owners);
    say("tidemark", page.text().substr(0, page.text().size() - 1));
    serve::write_use_and_pins(refusal.device);
  }
  recorder().failure({.block_class = static_cast<std::uint64_t>(refusal.block_class),
                      .device = refusal.device,
                      .error = static_cast<std::uint64_t>(refusal.error),
                      .size_bytes = refusal.size_bytes,
                      .free_bytes = shortage.free_bytes},
                     page.text().substr(0, kept));
}

}  // namespace tidemark::interpose
