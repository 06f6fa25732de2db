// SPDX-License-Identifier: Apache-2.0
// Which blocks a question is about. Sums, peaks and steps are then those of the selected blocks alone; reserved bytes
// are the device's and know of no blocks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/history.h"

namespace tidemark::analysis {

struct Filter {
  std::string layer;  // a glob; empty: all
  std::optional<trace::Kind> kind;
  std::optional<trace::Phase> phase;
  std::optional<std::uint64_t> step;  // in which a block was allocated
  std::optional<std::uint8_t> device;
  // A device is looked at as a whole; the others take blocks out of it.
  bool partial() const { return !layer.empty() || kind || phase || step; }
  bool any() const { return partial() || device; }
};

// `*` stands for any text, dots included, `?` for one character.
bool matches_glob(std::string_view glob, std::string_view text);

class Selection {
 public:
  // The history must outlive it.
  Selection(const History& history, const Filter& filter);

  // A block's kind may change while it lives.
  bool operator()(const Block& b, trace::Kind kind) const {
    return counts_in_live(b) && (all_ || (where(b) && (!filter_.kind || *filter_.kind == kind)));
  }
  // Sums of many steps cannot tell one of them: then they say nothing.
  bool can_sum() const;
  bool operator()(const SummedRow& row) const;
  bool on_device(std::uint8_t device) const { return !filter_.device || *filter_.device == device; }

 private:
  bool where(const Block& b) const;

  const History& history_;
  Filter filter_;
  bool all_;
  std::vector<bool> layers_;
};

}  // namespace tidemark::analysis
