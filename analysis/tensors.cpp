// SPDX-License-Identifier: Apache-2.0
#include "analysis/tensors.h"

#include <algorithm>
#include <map>

namespace tidemark::analysis {
namespace {

// Blocks that may turn out to be holders, by address. One that did is taken out: nothing more is to be learnt about it,
// and what remains to be looked at gets less with every look.
class Ranges {
 public:
  explicit Ranges(History& history) : history_(history) {}

  void apply(Change c) {
    Block const& b = history_.blocks[c.block];
    if (is_tensor(b)) {
      if (!c.freed) mark(b);
      return;
    }
    std::uint32_t const block = c.block;
    if (b.block_class == trace::Class::Mapping ||
        (trace::on_device(b.block_class) && b.block_class != trace::Class::Physical &&
         b.block_class != trace::Class::Array)) {
      if (c.freed)
        remove(b, block);
      else
        ranges_.insert_or_assign(b.address, block);
    }
  }

 private:
  static std::uint64_t end_of(const Block& b) {
    return b.address + std::min(std::max<std::uint64_t>(b.size_bytes, 1), ~b.address);
  }
  void remove(const Block& b, std::uint32_t block) {
    auto const found = ranges_.find(b.address);
    if (found != ranges_.end() && found->second == block) ranges_.erase(found);
  }
  void mark(const Block& tensor) {
    auto at = ranges_.upper_bound(tensor.address);
    if (at != ranges_.begin() && end_of(history_.blocks[std::prev(at)->second]) > tensor.address) --at;
    while (at != ranges_.end() && at->first < end_of(tensor)) {
      auto const behind = history_.behind.find(at->second);
      history_.blocks[behind == history_.behind.end() ? at->second : behind->second].holds_tensors = true;
      at = ranges_.erase(at);
    }
  }

  History& history_;
  std::map<std::uint64_t, std::uint32_t> ranges_;
};

}  // namespace

void find_holders(History& history) {
  if (std::none_of(history.blocks.begin(), history.blocks.end(), is_tensor)) return;
  Ranges ranges(history);
  for (Change const c : history.changes) ranges.apply(c);
}

}  // namespace tidemark::analysis
