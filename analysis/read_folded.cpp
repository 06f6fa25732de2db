// SPDX-License-Identifier: Apache-2.0
#include "analysis/read_folded.h"

#include <algorithm>
#include <map>

#include "analysis/history.h"
#include "trace/read/sums.h"

namespace tidemark::analysis {
namespace {

void add_up(std::uint64_t& sum, std::uint64_t n) {
  sum = n > ~sum ? ~std::uint64_t{0} : sum + n;
}

template <class E, std::size_t n>
E known(std::uint64_t value, const std::array<std::string_view, n>& names) {
  return value < names.size() ? static_cast<E>(value) : E{};
}

std::vector<SummedRow> rows_of(const trace::Sums& sums, const LayerOf& layer) {
  std::vector<SummedRow> rows;
  for (trace::Sum const& sum : sums.rows)
    rows.push_back({.layer = layer(static_cast<std::uint32_t>(sum.path)),
                    .step = sum.step,
                    .width = sums.width,
                    .block_class = static_cast<trace::Class>(sum.block_class),
                    .phase = static_cast<trace::Phase>(sum.phase),
                    .kind = known<trace::Kind>(sum.kind, trace::kKindNames),
                    .device = static_cast<std::uint8_t>(sum.device),
                    .observed = sum.served == 0,
                    .allocations = sum.allocations,
                    .requested_bytes = sum.requested_bytes});
  return rows;
}

// Rows of the same steps as one, without those of the window's own.
std::map<std::uint64_t, trace::StepSum> groups_of(const trace::Sums& sums, const std::set<std::uint64_t>& in_window) {
  std::map<std::uint64_t, trace::StepSum> groups;
  for (trace::StepSum const& said : sums.said) {
    if (said.first == trace::kNoStep || (said.first == said.last && in_window.contains(said.first))) continue;
    auto const [found, fresh] = groups.try_emplace(trace::first_of_steps(said.first, sums.step_width), said);
    if (!fresh) merge(found->second, said);
  }
  return groups;
}

// A row of several steps ends where the window's own begin.
std::vector<EarlierSteps> earlier_of(const trace::Trace& trace, const trace::Sums& sums,
                                     const std::set<std::uint64_t>& in_window) {
  std::vector<EarlierSteps> rows;
  for (auto const& [group, said] : groups_of(sums, in_window)) {
    if (in_window.contains(said.first)) continue;
    auto const next = in_window.upper_bound(said.first);
    std::uint64_t const last = next == in_window.end() ? said.last : std::min<std::uint64_t>(said.last, *next - 1);
    rows.push_back({.first = said.first,
                    .last = std::max<std::uint64_t>(last, said.first),
                    .begin_ns = trace.nanoseconds(said.begin_ticks),
                    .end_ns = trace.nanoseconds(std::max<std::uint64_t>(said.begin_ticks, said.end_ticks)),
                    .peak_live_bytes = said.peak_live_bytes,
                    .end_live_bytes = said.end_live_bytes,
                    .allocations = said.allocations});
  }
  // Events of these steps that are still there count with them.
  for (trace::StepSum const& counted : sums.counted) {
    if (counted.first == trace::kNoStep || in_window.contains(counted.first)) continue;
    auto const row = std::find_if(rows.begin(), rows.end(), [&](const EarlierSteps& r) {
      return r.first <= counted.first && counted.first <= r.last;
    });
    if (row != rows.end()) add_up(row->allocations, counted.allocations);
  }
  return rows;
}

}  // namespace

void read_folded(const trace::Trace& trace, const std::set<std::uint64_t>& steps_in_window, const LayerOf& layer,
                 Folded& out) {
  trace::Sums const sums = trace::sum_up(trace);
  out.sums = rows_of(sums, layer);
  out.earlier = earlier_of(trace, sums, steps_in_window);
  for (auto const* const steps : {&sums.said, &sums.counted})
    for (trace::StepSum const& row : *steps) add_up(out.failures, row.failures);
  trace::FileHeader const& h = trace.header();
  out.peak_live_bytes = std::min(h.totals.peak_live_bytes, kLargestSum);
  out.peak_requested_bytes = std::min(h.ring.peak_requested_bytes, kLargestSum);
  out.peak_reserved_bytes = std::min(h.totals.peak_reserved_bytes, kLargestSum);
}

}  // namespace tidemark::analysis
