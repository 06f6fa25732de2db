// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/marks.h"

#include <algorithm>

#include "base/reserved.h"
#include "interpose/record/thread.h"

namespace tidemark::interpose {
namespace {

// Inside "encoder.3", "encoder.3.attn" is its part "attn".
std::string_view part_within(std::string_view outer, std::string_view name) {
  if (!outer.empty() && name.size() > outer.size() + 1 && name.starts_with(outer) && name[outer.size()] == '.')
    name.remove_prefix(outer.size() + 1);
  return name;
}

}  // namespace

Marks* Marks::mine() {
  Marks*& marks = this_thread().marks;
  // Pages from the system are zero, which is an empty stack.
  if (marks == nullptr) marks = reinterpret_cast<Marks*>(Reserved::map(sizeof(Marks)).release());
  return marks;
}

void Marks::push_layer(std::string_view name, std::uint64_t range) {
  std::size_t const at = depth_++;
  if (at >= kDepth) return;
  std::string_view const outer{text_, at == 0 ? 0 : layers_[at - 1].text_end};
  std::string_view const part = part_within(outer, name);
  std::size_t end = outer.size();
  if (end != 0 && end < kText) text_[end++] = '.';
  std::size_t const fits = std::min(part.size(), kText - end);
  std::copy_n(part.data(), fits, text_ + end);
  layers_[at] = {.path = 0, .text_end = static_cast<std::uint32_t>(end + fits), .range = range};
}

void Marks::pop_layer() {
  if (depth_ == 0) return;
  --depth_;
  named_ = std::min(named_, layers());
}

bool Marks::close_range(std::uint64_t range) {
  std::size_t i = layers();
  while (i > 0 && layers_[i - 1].range != range) --i;
  if (i == 0) return false;
  if (i == depth_) {
    pop_layer();
  } else {
    // What was opened inside keeps its name; the place is closed when its turn comes.
    layers_[i - 1].range = 0;
    std::copy(layers_ + i, layers_ + layers(), layers_ + i - 1);
    pop_layer();
  }
  return true;
}

void Marks::push_phase(trace::Phase phase) {
  if (phase_depth_ < kDepth) phases_[phase_depth_] = phase;
  ++phase_depth_;
}

void Marks::pop_phase() {
  if (phase_depth_ > 0) --phase_depth_;
}

trace::Phase Marks::phase() const {
  return phases() == 0 ? trace::Phase::Other : phases_[phases() - 1];
}

std::uint32_t Marks::path(trace::Dictionary& names) {
  for (; named_ < layers(); ++named_) {
    Layer& layer = layers_[named_];
    if (layer.path != 0) continue;  // moved here from further in
    std::uint32_t const begin = named_ == 0 ? 0 : layers_[named_ - 1].text_end + 1;
    std::uint32_t const parent = named_ == 0 ? 0 : layers_[named_ - 1].path;
    std::string_view const part{text_ + std::min(begin, layer.text_end),
                                layer.text_end - std::min(begin, layer.text_end)};
    layer.path = names.path(parent, part);
  }
  return layers() == 0 ? 0 : layers_[layers() - 1].path;
}

}  // namespace tidemark::interpose
