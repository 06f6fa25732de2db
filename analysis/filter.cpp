// SPDX-License-Identifier: Apache-2.0
#include "analysis/filter.h"

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

}  // namespace tidemark::analysis
