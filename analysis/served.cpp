// SPDX-License-Identifier: Apache-2.0
#include "analysis/served.h"

#include <array>
#include <map>
#include <set>
#include <string_view>

namespace tidemark::analysis {
namespace {

constexpr std::size_t kMostCulprits = 64;  // more than is ever written

using CacheKey = std::pair<std::uint8_t, std::uint8_t>;  // device, number

template <class Sample>
CacheKey key_of(const Sample& s) {
  return {s.device, s.cache};
}

// What all caches hold together, kept up to date sample by sample: a damaged trace may have many of both.
class Together {
 public:
  CacheMoment add(const CacheSample& s) {
    auto const [known, fresh] = now_.try_emplace(key_of(s));
    CacheSample& before = known->second;
    if (!fresh) holes_.erase(holes_.find(before.largest_hole_bytes));
    holes_.insert(s.largest_hole_bytes);
    sum_.time_ns = s.time_ns;
    sum_.live_bytes += s.live_bytes - before.live_bytes;
    sum_.requested_bytes += s.requested_bytes - before.requested_bytes;
    sum_.reserved_bytes += s.reserved_bytes - before.reserved_bytes;
    sum_.largest_hole_bytes = *holes_.rbegin();
    before = s;
    return sum_;
  }

 private:
  std::map<CacheKey, CacheSample> now_;
  std::multiset<std::uint64_t> holes_;
  CacheMoment sum_;
};

void read_counts(const History& history, const Selection& selection, CacheSummary& to) {
  std::map<CacheKey, CacheCountSample> last;
  for (CacheCountSample const& s : history.cache_counts)
    if (selection.on_device(s.device)) last[key_of(s)] = s;
  for (auto const& [key, s] : last) {
    to.plan_hits += s.plan_hits;
    to.plan_misses += s.plan_misses;
    to.waits_avoided += s.waits_avoided;
    to.given_back_bytes += s.given_back_bytes;
  }
}

// Those of the last allocation that failed; where none did, of the last time that they were looked for.
const CacheSample* moment_of_pins(const History& history, const Selection& selection) {
  const CacheSample* chosen = nullptr;
  std::uint64_t const failed = history.failures.empty() ? kNever : history.failures.back().time_ns;
  for (PinSample const& pin : history.pins)
    if (selection.on_device(pin.device) && (pin.time_ns <= failed || chosen == nullptr))
      chosen = &history.cache_samples[pin.sample];
  return chosen;
}

// Who had an address at a time: the last of its owners that was born by then.
const Block* owner_of(const History& history, const PinSample& pin) {
  const Block* owner = nullptr;
  for (Block const& b : history.blocks) {
    if (b.born_ns > pin.time_ns) break;
    if (b.address == pin.address && b.device == pin.device && trace::on_device(b.block_class)) owner = &b;
  }
  return owner;
}

void read_culprits(const History& history, const Selection& selection, CacheSummary& to) {
  const CacheSample* const moment = moment_of_pins(history, selection);
  if (moment == nullptr) return;
  to.culprits_time_ns = moment->time_ns;
  to.largest_hole_bytes = moment->largest_hole_bytes;
  for (PinSample const& pin : history.pins) {
    if (&history.cache_samples[pin.sample] != moment) continue;
    if (to.culprits.size() == kMostCulprits) return;
    Culprit c{.address = pin.address,
              .before_bytes = pin.before_bytes,
              .after_bytes = pin.after_bytes,
              .given_back_bytes = pin.given_back_bytes,
              .device = pin.device};
    if (const Block* const owner = owner_of(history, pin)) {
      c.live_bytes = rounded_bytes(*owner);
      c.born_ns = owner->born_ns;
      c.layer = history.layers[owner->layer];
      c.name = history.names[owner->name];
      c.kind = std::string(trace::name(owner->kind));
    }
    to.culprits.push_back(std::move(c));
  }
}

}  // namespace

std::vector<LateFreeRow> late_free_rows(const History& history, const Selection& selection) {
  constexpr std::array<std::string_view, 3> kBy{"kernel", "copy", "fill"};
  std::vector<LateFreeRow> rows;
  for (LateFreeSample const& s : history.late_frees) {
    if (!selection.on_device(s.device)) continue;
    LateFreeRow row{.time_ns = s.time_ns,
                    .address = s.address,
                    .requested_bytes = s.size_bytes,
                    .freed_stream = s.freed_stream,
                    .used_stream = s.used_stream,
                    .freed_layer = history.layers[s.freed_layer],
                    .phase = std::string(trace::name(s.phase)),
                    .used_layer = history.layers[s.used_layer],
                    .used_by = std::string(s.by < kBy.size() ? kBy[s.by] : "work"),
                    .device = s.device};
    if (s.step != kNoStep) row.step = history.steps[s.step].step;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<CacheSummary> summarize_caches(const History& history, const Selection& selection) {
  std::optional<CacheSummary> all;
  Together together;
  for (CacheSample const& s : history.cache_samples) {
    if (!selection.on_device(s.device)) continue;
    CacheMoment const sum = together.add(s);
    if (!all) all.emplace();
    if (sum.live_bytes > all->at_peak.live_bytes || all->samples == 0) all->at_peak = sum;
    all->at_end = sum;
    all->peak_cached_bytes = std::max(all->peak_cached_bytes, sum.cached_bytes());
    all->peak_rounding_bytes = std::max(all->peak_rounding_bytes, sum.rounding_bytes());
    ++all->samples;
  }
  if (!all) return all;
  all->largest_hole_bytes = all->at_peak.largest_hole_bytes;
  read_counts(history, selection, *all);
  read_culprits(history, selection, *all);
  return all;
}

}  // namespace tidemark::analysis
