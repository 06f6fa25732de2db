// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/circular.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"

namespace tidemark::plan {
namespace {

Error bad(const std::string& what) {
  return {Errc::InvalidArgument, what, "blocks begin within the period, in order, and end later than they begin"};
}

Result<void> check(const Iteration& it) {
  if (it.period == 0 || it.period > kLargest / (4 * kMostPeriods)) return bad("not a period");
  std::uint64_t last = 0;
  for (Block const& b : it.blocks) {
    if (b.begin >= it.period || b.begin < last) return bad("a block begins out of order");
    if (b.end != kNever && (b.end <= b.begin || b.end > kLargest)) return bad("a block ends before it begins");
    if (b.size_bytes > kLargest / 2) return bad("a block is too large");
    last = b.begin;
  }
  return {};
}

std::uint64_t periods_of(const Block& b, std::uint64_t period) {
  return b.end == kNever ? kMostPeriods + 1 : (b.end - b.begin + period - 1) / period;
}

// Where the fewest bytes are alive: asked at every free of the ring, because only there live bytes fall.
void find_cut(const Iteration& it, CircularPlan& plan) {
  struct Change {
    std::uint64_t time;
    std::int64_t bytes;
    auto operator<=>(const Change&) const = default;
  };
  std::vector<Change> changes;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < it.blocks.size(); ++i) {
    Block const& b = it.blocks[i];
    if (plan.roles[i] == Role::Persistent) continue;
    auto const bytes = static_cast<std::int64_t>(round_up(b.size_bytes, it.alignment));
    live += bytes * static_cast<std::int64_t>(b.end / it.period);  // copies of earlier iterations, alive at clock 0
    changes.push_back({b.begin, bytes});
    changes.push_back({b.end % it.period, -bytes});
  }
  std::sort(changes.begin(), changes.end());  // frees of one instant come before its allocations
  std::int64_t least = INT64_MAX;
  for (Change const& c : changes) {
    live += c.bytes;
    if (live >= least) continue;
    least = live;
    plan.cut = c.time;
    plan.cut_bytes = static_cast<std::uint64_t>(least);
  }
}

void classify(const Iteration& it, CircularPlan& plan) {
  for (Block const& b : it.blocks) {
    std::uint64_t const needs = periods_of(b, it.period);
    bool const persistent = needs > kMostPeriods;
    plan.roles.push_back(persistent ? Role::Persistent : Role::Transient);
    if (persistent) plan.persistent_bytes += round_up(b.size_bytes, it.alignment);
    if (!persistent) plan.periods = std::max(plan.periods, static_cast<unsigned>(needs));
  }
  find_cut(it, plan);
  for (std::size_t i = 0; i < it.blocks.size(); ++i) {
    Block const& b = it.blocks[i];
    if (plan.roles[i] == Role::Persistent) continue;
    std::uint64_t const next = b.begin < plan.cut ? plan.cut : plan.cut + it.period;  // the first cut after it begins
    if (b.end > next) plan.roles[i] = Role::CarryOver;
  }
  auto const first = std::find_if(it.blocks.begin(), it.blocks.end(), [&](auto& b) { return b.begin >= plan.cut; });
  plan.cut_block = first == it.blocks.end() ? 0 : static_cast<std::size_t>(first - it.blocks.begin());
}

}  // namespace

Result<CircularPlan> plan_circular(const Iteration& it, const Options& options) {
  if (auto sound = check(it); !sound.ok()) return sound.error();
  CircularPlan plan;
  classify(it, plan);
  std::size_t const count = it.blocks.size();
  std::vector<Buffer> buffers;
  std::vector<std::size_t> slot;  // of a buffer in plan.offsets
  for (unsigned turn = 0; turn < plan.periods; ++turn) {
    for (std::size_t i = 0; i < count; ++i) {
      Block const& b = it.blocks[i];
      if (plan.roles[i] == Role::Persistent) continue;
      buffers.push_back({.lower = b.begin + turn * it.period,
                         .upper = b.end + turn * it.period,
                         .size_bytes = round_up(b.size_bytes, it.alignment),
                         .alignment = it.alignment});
      slot.push_back(turn * count + i);
    }
  }
  TIDEMARK_TRY(Plan const ring, plan_ring(buffers, plan.periods * it.period, options));
  plan.offsets.assign(plan.periods * count, 0);
  for (std::size_t k = 0; k < slot.size(); ++k) plan.offsets[slot[k]] = ring.layout.offsets[k];
  plan.height = ring.layout.height;
  plan.bound = ring.bound;
  plan.least = ring.least;
  plan.seconds = ring.seconds;
  return plan;
}

}  // namespace tidemark::plan
