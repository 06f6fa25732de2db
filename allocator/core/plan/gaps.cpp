// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/gaps.h"

#include <algorithm>
#include <utility>

namespace tidemark::plan {
namespace {

constexpr std::int64_t kNowhere = -1;
constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::uint64_t kLooksPerArc = 100;  // the buckets, its way into the tree and back

std::int64_t aligned(std::int64_t offset, std::int64_t alignment) {
  return alignment == 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

}  // namespace

Gaps::Gaps(const Problem& problem, Effort& effort) : problem_(problem), effort_(effort) {
  auto const count = static_cast<std::uint32_t>(problem.arcs.size());
  while (leaves_ < problem.sections) leaves_ *= 2;
  first_.assign(problem.sections + 1, count);
  for (std::uint32_t i = count; i-- > 0;) first_[problem.arcs[i].begin] = i;
  for (std::uint32_t s = problem.sections; s-- > 0;) first_[s] = std::min(first_[s], first_[s + 1]);
}

void Gaps::note_line(std::uint32_t begin, std::uint32_t end, Extent extent) {
  for (std::uint32_t l = begin + leaves_, r = end + leaves_; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) covering_[l++].push_back(extent);
    if (r % 2 == 1) covering_[--r].push_back(extent);
  }
}

void Gaps::note(const Arc& arc, Extent extent) {
  note_line(arc.begin, std::min(arc.end, problem_.sections), extent);
  if (arc.end > problem_.sections) note_line(0, arc.end - problem_.sections, extent);
}

void Gaps::meet_starts(std::uint32_t begin, std::uint32_t end, const std::vector<std::int64_t>& offsets) {
  for (std::uint32_t i = first_[begin]; i < first_[end]; ++i)
    if (offsets[i] != kNowhere) met_.emplace_back(offsets[i], offsets[i] + problem_.arcs[i].size);
}

void Gaps::meet(std::uint32_t arc, const std::vector<std::int64_t>& offsets) {
  Arc const& a = problem_.arcs[arc];
  met_.clear();
  for (std::uint32_t node = a.begin + leaves_; node > 0; node /= 2)
    met_.insert(met_.end(), covering_[node].begin(), covering_[node].end());
  meet_starts(std::min(a.begin + 1, problem_.sections), std::min(a.end, problem_.sections), offsets);
  if (a.end > problem_.sections) meet_starts(0, a.end - problem_.sections, offsets);
}

void Gaps::deal(std::int64_t height) {
  unsigned shift = 0;
  while (height >> shift >= kBuckets) ++shift;
  heads_.assign(kBuckets, kNone);
  next_.resize(met_.size());
  for (std::uint32_t i = 0; i < met_.size(); ++i) {
    auto const bucket = static_cast<std::size_t>(met_[i].first >> shift);
    next_[i] = std::exchange(heads_[bucket], i);
  }
}

std::int64_t Gaps::gap_for(const Arc& arc, Fit fit) {
  std::int64_t below = 0, best = kNowhere, tightest = INT64_MAX;
  for (std::uint32_t const head : heads_) {
    bucket_.clear();
    for (std::uint32_t i = head; i != kNone; i = next_[i]) {
      // What begins below the highest end so far leaves no gap beneath it.
      if (met_[i].first <= below)
        below = std::max(below, met_[i].second);
      else
        bucket_.push_back(met_[i]);
    }
    if (bucket_.size() > 1) std::sort(bucket_.begin(), bucket_.end());
    for (Extent const& e : bucket_) {
      std::int64_t const at = aligned(below, arc.alignment);
      if (e.first - at >= arc.size && e.first - below < tightest) {
        best = at;
        if (fit == Fit::Lowest) return best;
        tightest = e.first - below;
      }
      below = std::max(below, e.second);
    }
  }
  return best != kNowhere ? best : aligned(below, arc.alignment);
}

std::int64_t Gaps::place(std::span<const std::uint32_t> rank, const Wish& wish, std::vector<std::int64_t>& offsets) {
  std::size_t const count = problem_.arcs.size();
  offsets.assign(count, kNowhere);
  covering_.resize(2 * static_cast<std::size_t>(leaves_));
  for (auto& list : covering_) list.clear();
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[rank[i]] = i;
  std::int64_t height = 0;
  for (std::uint32_t const arc : order) {
    Arc const& a = problem_.arcs[arc];
    meet(arc, offsets);
    deal(height);
    effort_.looks += kLooksPerArc + met_.size();
    std::int64_t const at = gap_for(a, wish.fit);
    height = std::max(height, at + a.size);
    if (height >= wish.limit || wish.stop.now()) return wish.limit;
    offsets[arc] = at;
    note(a, {at, at + a.size});
  }
  return height;
}

}  // namespace tidemark::plan
