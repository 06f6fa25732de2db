// SPDX-License-Identifier: Apache-2.0
#include "analysis/filter.h"

#include <algorithm>

namespace tidemark::analysis {

// After a mismatch the latest star takes one character more: no recursion, so no glob makes it slow.
bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after_star = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Selection::Selection(const History& history, const Filter& filter)
    : history_(history), filter_(filter), all_(!filter.any()) {
  for (std::string const& layer : history.layers)
    layers_.push_back(filter.layer.empty() || matches_glob(filter.layer, layer));
}

bool Selection::where(const Block& b) const {
  if (!layers_[b.layer] || !on_device(b.device)) return false;
  if (filter_.phase && *filter_.phase != b.phase) return false;
  return !filter_.step || (b.step != kNoStep && history_.steps[b.step].step == *filter_.step);
}

bool Selection::can_sum() const {
  if (!history_.folded || !filter_.step) return history_.folded.has_value();
  auto const& sums = history_.folded->sums;
  return std::all_of(sums.begin(), sums.end(), [](const SummedRow& r) { return r.width == 0; });
}

bool Selection::operator()(const SummedRow& r) const {
  if (!trace::on_device(r.block_class) && r.block_class != trace::Class::Tensor) return false;
  if (!layers_[r.layer] || !on_device(r.device)) return false;
  if (filter_.kind && *filter_.kind != r.kind) return false;
  return (!filter_.phase || *filter_.phase == r.phase) && (!filter_.step || *filter_.step == r.step);
}

}  // namespace tidemark::analysis
