// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/slots.h"

#include <algorithm>

#include "base/invariant.h"

namespace tidemark::plan {

// A few borders per bucket on average, so that finding one is a look and a step or two.
void PlanSlots::index_borders() {
  std::uint64_t const highest = borders_.empty() ? 0 : borders_.back();
  for (shift_ = 0; highest >> shift_ >= 2 * borders_.size() + 1; ++shift_) {
  }
  near_.assign((highest >> shift_) + 2, static_cast<std::uint32_t>(borders_.size()));
  for (std::size_t i = borders_.size(); i-- > 0;) near_[borders_[i] >> shift_] = static_cast<std::uint32_t>(i);
  for (std::size_t i = near_.size() - 1; i-- > 0;) near_[i] = std::min(near_[i], near_[i + 1]);
}

std::uint32_t PlanSlots::cell_at(std::uint64_t offset) const {
  std::uint64_t const bucket = offset >> shift_;
  if (bucket + 1 >= near_.size()) return kNone;
  auto const last = borders_.begin() + near_[bucket + 1];
  auto const at = std::lower_bound(borders_.begin() + near_[bucket], last, offset);
  return at == last || *at != offset ? kNone : static_cast<std::uint32_t>(at - borders_.begin());
}

void PlanSlots::allow(std::span<const Extent> places) {
  auto const blocks = taken();
  std::vector<std::uint64_t> borders;
  auto const add = [&](const Extent& e) {
    if (e.size_bytes == 0 || e.offset > UINT64_MAX - e.size_bytes) return;
    borders.push_back(e.offset);
    borders.push_back(e.end());
  };
  for (Extent const& e : places) add(e);
  for (Extent const& e : blocks) add(e);
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  borders_ = std::move(borders);
  index_borders();
  bits_.assign(borders_.size() / 64 + 1, 0);
  ends_.assign(borders_.size(), 0);
  taken_bytes_ = taken_blocks_ = 0;
  for (Extent const& e : blocks) {
    bool const again = take(e);
    TIDEMARK_INVARIANT(again);
    static_cast<void>(again);
  }
}

std::optional<PlanSlots::Cells> PlanSlots::cells_of(const Extent& place) const {
  if (place.size_bytes == 0 || place.offset > UINT64_MAX - place.size_bytes) return std::nullopt;
  std::uint32_t const first = cell_at(place.offset), last = cell_at(place.end());
  if (first == kNone || last == kNone) return std::nullopt;
  return Cells{first, last};
}

bool PlanSlots::take(const Extent& place) {
  auto const cells = cells_of(place);
  return cells && take_cells(*cells);
}

bool PlanSlots::release(std::uint64_t offset) {
  std::uint32_t const first = cell_at(offset);
  if (first == kNone || ends_[first] == 0) return false;
  TIDEMARK_INVARIANT(test(first, ends_[first]));
  release_cells(Cells{first, ends_[first]});
  return true;
}

std::vector<Extent> PlanSlots::taken() const {
  std::vector<Extent> blocks;
  for (std::uint32_t i = 0; i < ends_.size(); ++i)
    if (ends_[i] != 0) blocks.push_back({borders_[i], borders_[ends_[i]] - borders_[i]});
  return blocks;
}

}  // namespace tidemark::plan
