// SPDX-License-Identifier: Apache-2.0
// The account of a program kept the slow and obvious way, to compare the analysis with: every question walks over all
// blocks and all their marks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/format/words.h"

namespace tidemark::analysis {

class Reference {
 public:
  struct Mark {
    std::uint64_t at;
    trace::Kind kind;
  };
  struct Block {
    std::uint64_t size_bytes = 0;
    trace::Class block_class = trace::Class::Device;
    std::string layer, phase, step, stack;
    unsigned device = 0;
    std::uint64_t born = 0, died = ~std::uint64_t{0};  // in changes
    std::vector<Mark> marks = {};
  };
  struct Sample {
    std::uint64_t at;
    unsigned device;
    std::uint64_t used_bytes;
  };

  std::size_t born(Block block) {
    block.born = ++changes_;
    blocks_.push_back(std::move(block));
    return blocks_.size() - 1;
  }
  void died(std::size_t block) { blocks_[block].died = ++changes_; }
  void marked(std::size_t block, trace::Kind kind) { blocks_[block].marks.push_back({changes_, kind}); }
  void sampled(unsigned device, std::uint64_t used_bytes) { samples_.push_back({changes_, device, used_bytes}); }
  std::uint64_t changes() const { return changes_; }
  const std::vector<Block>& blocks() const { return blocks_; }

  // What holds once so many changes have happened, and everything between the last and the next.
  template <class F>
  std::map<std::string, std::uint64_t> by(std::uint64_t at, F name) const {
    std::map<std::string, std::uint64_t> sums;
    for (Block const& b : blocks_)
      if (counts(b, at)) sums[name(b)] += rounded(b);
    return sums;
  }
  std::uint64_t live(std::uint64_t at) const {
    std::uint64_t total = 0;
    for (Block const& b : blocks_) total += counts(b, at) ? rounded(b) : 0;
    return total;
  }
  std::uint64_t requested(std::uint64_t at) const {
    std::uint64_t total = 0;
    for (Block const& b : blocks_) total += counts(b, at) ? b.size_bytes : 0;
    return total;
  }
  std::uint64_t reserved(std::uint64_t at, std::uint64_t baseline_bytes, unsigned devices) const {
    std::uint64_t total = 0;
    for (unsigned d = 0; d < devices; ++d) {
      std::uint64_t here = 0, used = 0;
      for (Block const& b : blocks_) here += counts(b, at) && b.device == d ? rounded(b) : 0;
      for (Sample const& s : samples_)
        if (s.device == d && s.at <= at) used = s.used_bytes;
      total += std::max(here, used > baseline_bytes ? used - baseline_bytes : 0);
    }
    return total;
  }
  // The first thing that was said holds from the beginning, the later ones from when they were said.
  static std::string kind(const Block& b, std::uint64_t at) {
    trace::Kind kind = b.marks.empty() ? trace::Kind::Other : b.marks[0].kind;
    for (std::size_t i = 1; i < b.marks.size(); ++i)
      if (b.marks[i].at <= at) kind = b.marks[i].kind;
    return std::string(trace::name(kind));
  }

 private:
  static bool counts(const Block& b, std::uint64_t at) {
    return trace::on_device(b.block_class) && b.born <= at && at < b.died;
  }
  static std::uint64_t rounded(const Block& b) { return (b.size_bytes + 511) / 512 * 512; }

  std::vector<Block> blocks_;
  std::vector<Sample> samples_;
  std::uint64_t changes_ = 0;
};

}  // namespace tidemark::analysis
