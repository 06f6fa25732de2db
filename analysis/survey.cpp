// SPDX-License-Identifier: Apache-2.0
#include "analysis/survey.h"

namespace tidemark::analysis {
namespace {

// Sums over a whole run have no natural bound.
void add_up(std::uint64_t& sum, std::uint64_t n) {
  sum = n > ~sum ? ~std::uint64_t{0} : sum + n;
}

}  // namespace

// A block that is called something else is counted as that from its birth on.
void PeakFinder::enter(const Block& b, trace::Kind, Why why) {
  found_ += why == Why::Found;
  if (why == Why::Found) return;
  ++totals_.allocations;
  add_up(totals_.requested_bytes, b.size_bytes);
}

void PeakFinder::leave(const Block& b, trace::Kind, Why why) {
  if (why == Why::Freed) {
    ++totals_.frees;
  } else {
    --totals_.allocations;
    totals_.requested_bytes -= b.size_bytes;
  }
}

void PeakFinder::settled(const Account& a) {
  if (a.live_bytes > peak_.live_bytes) peak_ = a;
  if (a.at == peak_.at && a.reserved_bytes >= peak_.reserved_bytes) {
    peak_.reserved_bytes = a.reserved_bytes;
    peak_.device_used_bytes = a.device_used_bytes;
  }
  requested_ = std::max(requested_, a.requested_bytes);
  reserved_ = std::max(reserved_, a.reserved_bytes);
}

void LayerPeaks::enter(const Block& b, trace::Kind kind, Why why) {
  Layer& l = layers_[b.layer];
  l.allocations += why != Why::Found;
  l.live += rounded_bytes(b);
  l.peak_live = std::max(l.peak_live, l.live);
  if (kind != trace::Kind::Activation) return;
  l.activation += rounded_bytes(b);
  l.peak_activation = std::max(l.peak_activation, l.activation);
}

void LayerPeaks::leave(const Block& b, trace::Kind kind, Why why) {
  Layer& l = layers_[b.layer];
  l.allocations -= why == Why::Renamed;
  l.live -= rounded_bytes(b);
  if (kind == trace::Kind::Activation) l.activation -= rounded_bytes(b);
}

void StepPeaks::step_begins(const Account& a, std::uint32_t) {
  steps_.push_back({.peak = a, .end_live = a.live_bytes});
}

void StepPeaks::settled(const Account& a) {
  if (steps_.empty()) return;
  Step& s = steps_.back();
  if (a.live_bytes > s.peak.live_bytes) s.peak = a;
  s.end_live = a.live_bytes;
}

std::vector<ClassRow> class_rows(const History& history, const Selection& selection) {
  constexpr std::size_t kCount = trace::kClassNames.size();
  std::array<ClassRow, kCount> rows;
  std::uint64_t at = 0;
  std::uint64_t const found = history.folded ? history.folded->changes : 0;
  for (Change const c : history.changes) {
    ++at;
    Block const& b = history.blocks[c.block];
    auto const i = static_cast<std::size_t>(b.block_class);
    if (i >= kCount || !selection.on_device(b.device)) continue;
    ClassRow& row = rows[i];
    row.on_device = trace::on_device(b.block_class);
    std::uint64_t const bytes = row.on_device || is_tensor(b) ? rounded_bytes(b) : b.size_bytes;
    row.end_bytes += c.freed ? -bytes : bytes;
    row.peak_bytes = std::max(row.peak_bytes, row.end_bytes);
    row.allocations += c.freed || at <= found ? 0 : 1;
  }
  if (history.folded) {
    for (ClassRow& row : rows) row.allocations = 0;
    for (SummedRow const& sum : history.folded->sums) {
      auto const i = static_cast<std::size_t>(sum.block_class);
      if (i >= kCount || !selection.on_device(sum.device)) continue;
      rows[i].on_device = trace::on_device(sum.block_class);
      add_up(rows[i].allocations, sum.allocations);
    }
  }
  std::vector<ClassRow> seen;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (rows[i].allocations == 0) continue;
    rows[i].name = trace::kClassNames[i];
    seen.push_back(std::move(rows[i]));
  }
  return seen;
}

}  // namespace tidemark::analysis
