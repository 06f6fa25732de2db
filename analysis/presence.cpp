// SPDX-License-Identifier: Apache-2.0
#include "analysis/presence.h"

#include <algorithm>

namespace tidemark::analysis {
namespace {

bool has_step(const History& h, std::uint64_t step) {
  if (std::any_of(h.steps.begin(), h.steps.end(), [&](const StepMark& m) { return m.step == step; })) return true;
  return h.folded && std::any_of(h.folded->earlier.begin(), h.folded->earlier.end(),
                                 [&](const EarlierSteps& e) { return e.first <= step && step <= e.last; });
}

// A few of them: a terminal has room for a line or two.
std::string layers_in_words(const History& h) {
  constexpr std::size_t kMost = 6;
  if (h.layers.size() < 2) return "the program named no layers (NVTX ranges, or tidemark_push in tidemark/tidemark.h)";
  std::string words = "the trace has";
  for (std::size_t i = 1; i < std::min(h.layers.size(), kMost + 1); ++i)
    words += (i == 1 ? " " : ", ") + h.layers[i].substr(0, 60);
  if (h.layers.size() > kMost + 1) words += " and " + std::to_string(h.layers.size() - kMost - 1) + " more";
  return words + "; * stands for any text";
}

std::string layer_hint(const History& h, const std::string& glob) {
  for (std::string const& layer : h.layers)
    if (layer.starts_with(glob + ".")) return "for the layers inside it write '" + glob + ".*'";
  return layers_in_words(h);
}

}  // namespace

std::size_t first_whole_step(const History& history) {
  return history.folded ? history.folded->steps : 0;
}

std::string steps_in_words(const History& h) {
  std::size_t const first = first_whole_step(h);
  if (first == h.steps.size()) return "the program marked no steps (tidemark_step in tidemark/tidemark.h)";
  return "the trace has steps " + std::to_string(h.steps[first].step) + " to " + std::to_string(h.steps.back().step) +
         (h.folded ? "; what came before is sums" : "");
}

Result<void> expect_present(const History& h, const Filter& f, const Presence& p) {
  auto const missing = [&](const std::string& what, std::string hint) {
    return Error{Errc::InvalidArgument, p.path + ": no " + what, std::move(hint)};
  };
  if (f.device && *f.device >= p.devices)
    return missing("device " + std::to_string(*f.device),
                   p.devices == 0   ? "the trace has none"
                   : p.devices == 1 ? "the trace has device 0"
                                    : "the trace has devices 0 to " + std::to_string(p.devices - 1));
  if (f.step && !has_step(h, *f.step)) return missing("step " + std::to_string(*f.step), steps_in_words(h));
  bool const layer = f.layer.empty() || std::any_of(h.layers.begin(), h.layers.end(),
                                                    [&](const std::string& l) { return matches_glob(f.layer, l); });
  if (!layer) return missing("layer matches '" + f.layer + "'", layer_hint(h, f.layer));
  return {};
}

}  // namespace tidemark::analysis
