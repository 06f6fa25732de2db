// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/circular.h"

#include <algorithm>
#include <string>

#include "allocator/core/plan/verify.h"
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

// A buffer of the ring, and where its offset is told.
struct Occurrences {
  std::vector<Buffer> buffers;
  std::vector<std::size_t> slots;  // in plan.offsets
  void add(const Buffer& buffer, std::size_t slot) {
    buffers.push_back(buffer);
    slots.push_back(slot);
  }
};

Occurrences occurrences(const Iteration& it, const CircularPlan& plan) {
  Occurrences all;
  for (unsigned turn = 0; turn < plan.periods; ++turn) {
    for (std::size_t i = 0; i < it.blocks.size(); ++i) {
      Block const& b = it.blocks[i];
      if (plan.roles[i] == Role::Persistent) continue;
      all.add({.lower = b.begin + turn * it.period,
               .upper = b.end + turn * it.period,
               .size_bytes = round_up(b.size_bytes, it.alignment),
               .alignment = it.alignment},
              turn * it.blocks.size() + i);
    }
  }
  return all;
}

// What goes into strips is told in the plan; the rest is returned.
Result<Occurrences> put_beside(const Occurrences& all, std::uint64_t period, std::span<const Strip> strips,
                               CircularPlan& plan) {
  Problem const problem = make_problem(all.buffers, {.period = period});
  auto const beside = fill_strips(problem, strips);
  std::vector<Occurrences> inside(strips.size());
  std::vector<Layout> layouts(strips.size());
  std::vector<bool> gone(all.buffers.size());
  for (std::size_t arc = 0; arc < beside.size(); ++arc) {
    if (!beside[arc]) continue;
    std::uint32_t const k = problem.buffer[arc];
    std::size_t const strip = beside[arc]->strip;
    std::uint64_t const offset = static_cast<std::uint64_t>(beside[arc]->offset) * problem.unit_bytes;
    gone[k] = true;
    inside[strip].add(all.buffers[k], all.slots[k]);
    layouts[strip].offsets.push_back(offset);
    layouts[strip].height = std::max(layouts[strip].height, offset + all.buffers[k].size_bytes);
    plan.offsets[all.slots[k]] = strips[strip].offset + offset;
  }
  for (std::size_t i = 0; i < strips.size(); ++i) {
    if (inside[i].buffers.empty()) continue;
    // The same judge as for the arena.
    if (auto seen = verify_repeating(inside[i].buffers, period, layouts[i]); !seen.ok()) return seen.error();
    if (layouts[i].height > strips[i].size_bytes) return Error{Errc::Corrupt, "a strip is too full", ""};
    plan.strips.push_back(strips[i]);
  }
  Occurrences rest;
  for (std::size_t k = 0; k < all.buffers.size(); ++k)
    if (!gone[k]) rest.add(all.buffers[k], all.slots[k]);
  return rest;
}

}  // namespace

Result<CircularPlan> plan_circular(const Iteration& it, const Options& options, std::span<const Strip> strips) {
  if (auto sound = check(it); !sound.ok()) return sound.error();
  CircularPlan plan;
  classify(it, plan);
  plan.offsets.assign(plan.periods * it.blocks.size(), 0);
  Occurrences all = occurrences(it, plan);
  std::uint64_t const period = plan.periods * it.period;
  if (!strips.empty()) {
    TIDEMARK_TRY(all, put_beside(all, period, strips, plan));
  }
  TIDEMARK_TRY(Plan const ring, plan_ring(all.buffers, period, options));
  for (std::size_t k = 0; k < all.slots.size(); ++k) plan.offsets[all.slots[k]] = ring.layout.offsets[k];
  plan.height = ring.layout.height;
  plan.bound = ring.bound;
  plan.least = ring.least;
  plan.seconds = ring.seconds;
  return plan;
}

}  // namespace tidemark::plan
