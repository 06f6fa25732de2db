// SPDX-License-Identifier: Apache-2.0
// PyTorch's caching allocator, as rules: sizes in steps of 512 B; up to 1 MiB from segments of 2 MiB, below 10 MiB from
// segments of 20 MiB, above from segments of the size in steps of 2 MiB; best fit; a block is split if the rest is at
// least 512 B (small) or more than 1 MiB (large). With expandable segments: one range per kind, mapped in pages of 2
// and 20 MiB where it is needed first, every rest of 512 B split off, and the end of what is mapped taken last. One
// stream, no limit: nothing is ever given back.
#include <algorithm>
#include <map>
#include <set>

#include "analysis/replay/replay.h"
#include "base/bytes.h"

namespace tidemark::analysis {

namespace {

constexpr std::uint64_t kStep = 512;
constexpr std::uint64_t kSmall = 1ull << 20;
constexpr std::uint64_t kSmallSegment = 2ull << 20;
constexpr std::uint64_t kLargeSegment = 20ull << 20;
constexpr std::uint64_t kOwnSegmentFrom = 10ull << 20;

// A pool of blocks in address order; neighbours in one segment merge when they are free.
class Pool {
 public:
  enum class State : std::uint8_t { Free, Live, Unmapped };
  struct Block {
    std::uint64_t bytes;
    std::uint64_t segment;
    State state;
  };
  using Blocks = std::map<std::uint64_t, Block>;

  // The smallest free block that is large enough, and on through larger ones as long as their worth is less.
  template <class F>
  Blocks::iterator best_fit(std::uint64_t bytes, F worth) {
    auto at = free_.lower_bound({bytes, 0});
    if (at == free_.end()) return blocks_.end();
    auto best = blocks_.find(at->second);
    while (++at != free_.end()) {
      auto const next = blocks_.find(at->second);
      if (worth(next) >= worth(best)) break;
      best = next;
    }
    return best;
  }
  Blocks::iterator add(std::uint64_t address, std::uint64_t bytes, State state) {
    auto const at = blocks_.emplace(address, Block{bytes, address, state}).first;
    if (state == State::Free) free_.insert({bytes, address});
    return at;
  }
  void set(Blocks::iterator at, State state) {
    if (at->second.state == State::Free) free_.erase({at->second.bytes, at->first});
    at->second.state = state;
    if (state == State::Free) free_.insert({at->second.bytes, at->first});
  }
  // The first part keeps its state; so does the rest.
  Blocks::iterator split(Blocks::iterator at, std::uint64_t bytes) {
    State const state = at->second.state;
    set(at, State::Live);
    Block const rest{at->second.bytes - bytes, at->second.segment, state};
    at->second.bytes = bytes;
    set(at, state);
    auto const made = blocks_.emplace(at->first + bytes, rest).first;
    if (state == State::Free) free_.insert({rest.bytes, made->first});
    return made;
  }
  Blocks::iterator merge_around(Blocks::iterator at) {
    auto const joined = [&](Blocks::iterator a, Blocks::iterator b) {
      if (a->second.state != b->second.state || a->second.segment != b->second.segment) return false;
      State const state = a->second.state;
      set(a, State::Live);
      set(b, State::Live);
      a->second.bytes += b->second.bytes;
      blocks_.erase(b);
      set(a, state);
      return true;
    };
    if (auto const next = std::next(at); next != blocks_.end()) joined(at, next);
    if (at != blocks_.begin())
      if (auto const before = std::prev(at); joined(before, at)) return before;
    return at;
  }
  Blocks& blocks() { return blocks_; }

 private:
  Blocks blocks_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_;  // size, address
};

class PytorchRules : public Rules {
 public:
  std::uint64_t allocate(std::uint64_t bytes) override {
    std::uint64_t const rounded = round_up(bytes, kStep);
    bool const small = rounded <= kSmall;
    Pool& pool = small ? small_ : large_;
    auto block = find(pool, rounded);
    if (block == pool.blocks().end()) block = grow(pool, rounded, small);
    std::uint64_t const rest = block->second.bytes - rounded;
    if (splits(rest, small)) pool.split(block, rounded);
    pool.set(block, Pool::State::Live);
    return block->first;
  }
  void free(std::uint64_t address) override {
    Pool& pool = small_.blocks().contains(address) ? small_ : large_;
    auto const block = pool.blocks().find(address);
    pool.set(block, Pool::State::Free);
    pool.merge_around(block);
  }
  std::uint64_t reserved_bytes() const override { return reserved_; }
  std::uint64_t driver_calls() const override { return calls_; }

 protected:
  virtual Pool::Blocks::iterator find(Pool& pool, std::uint64_t bytes) {
    return pool.best_fit(bytes, [](auto block) { return block->second.bytes; });
  }
  virtual bool splits(std::uint64_t rest, bool small) const { return small ? rest >= kStep : rest > kSmall; }
  virtual Pool::Blocks::iterator grow(Pool& pool, std::uint64_t bytes, bool small) {
    std::uint64_t const segment = small                     ? kSmallSegment
                                  : bytes < kOwnSegmentFrom ? kLargeSegment
                                                            : round_up(bytes, kSmallSegment);
    reserved_ += segment;
    ++calls_;
    auto const made = pool.add(next_address_, segment, Pool::State::Free);
    next_address_ += segment;
    return made;
  }
  std::uint64_t reserved_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t next_address_ = 1ull << 40;
  Pool small_, large_;
};

class ExpandableRules : public PytorchRules {
 public:
  ExpandableRules() {
    small_.add(1ull << 40, 1ull << 42, Pool::State::Unmapped);
    large_.add(1ull << 44, 1ull << 42, Pool::State::Unmapped);
  }

 private:
  // A block before unmapped addresses counts as what it can grow to: others are taken first.
  Pool::Blocks::iterator find(Pool& pool, std::uint64_t bytes) override {
    return pool.best_fit(bytes, [&](auto block) {
      auto const next = std::next(block);
      bool const grows = next != pool.blocks().end() && next->second.state == Pool::State::Unmapped;
      return block->second.bytes + (grows ? next->second.bytes : 0);
    });
  }
  bool splits(std::uint64_t rest, bool /*small*/) const override { return rest >= kStep; }
  Pool::Blocks::iterator grow(Pool& pool, std::uint64_t bytes, bool small) override {
    std::uint64_t const page = small ? kSmallSegment : kLargeSegment;
    if (pool.blocks().size() == 1) ++calls_;  // the range is reserved with its first use
    // The lowest unmapped range that is long enough, together with the free block before it.
    for (auto at = pool.blocks().begin();; ++at) {
      if (at->second.state != Pool::State::Unmapped) continue;
      auto first = at;
      if (at != pool.blocks().begin() && std::prev(at)->second.state == Pool::State::Free) first = std::prev(at);
      std::uint64_t length = 0;
      for (auto b = first; b != pool.blocks().end() && b->second.state != Pool::State::Live && length < bytes; ++b)
        length += b->second.bytes;
      if (length >= bytes) return map(pool, first, bytes, page);
    }
  }
  Pool::Blocks::iterator map(Pool& pool, Pool::Blocks::iterator first, std::uint64_t bytes, std::uint64_t page) {
    auto block = first;
    while (block->second.state != Pool::State::Free || block->second.bytes < bytes) {
      auto unmapped = block->second.state == Pool::State::Unmapped ? block : std::next(block);
      std::uint64_t const have = block->second.state == Pool::State::Free ? block->second.bytes : 0;
      std::uint64_t const more = std::min(round_up(bytes - have, page), unmapped->second.bytes);
      if (more < unmapped->second.bytes) pool.split(unmapped, more);
      pool.set(unmapped, Pool::State::Free);
      reserved_ += more;
      calls_ += 2 * (more / page) + 1;  // create and map each, access once
      block = pool.merge_around(unmapped);
    }
    return block;
  }
};

class IdealRules : public Rules {
 public:
  std::uint64_t allocate(std::uint64_t bytes) override {
    live_ += round_up(bytes, kStep);
    sizes_[++next_] = round_up(bytes, kStep);
    return next_;
  }
  void free(std::uint64_t block) override {
    live_ -= sizes_[block];
    sizes_.erase(block);
  }
  std::uint64_t reserved_bytes() const override { return live_; }
  std::uint64_t driver_calls() const override { return 0; }

 private:
  std::uint64_t live_ = 0;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::uint64_t> sizes_;
};

}  // namespace

std::unique_ptr<Rules> pytorch_rules() {
  return std::make_unique<PytorchRules>();
}
std::unique_ptr<Rules> expandable_rules() {
  return std::make_unique<ExpandableRules>();
}
std::unique_ptr<Rules> ideal_rules() {
  return std::make_unique<IdealRules>();
}

}  // namespace tidemark::analysis
