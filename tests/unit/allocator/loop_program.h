// SPDX-License-Identifier: Apache-2.0
// Programs that repeat themselves, as training does: what a layer keeps is freed in reverse, temporaries soon,
// gradients in the next iteration. And a runner that watches what it is given: no two live blocks share a byte, and the
// device never finds memory in other hands than its owner's.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {

struct LoopStep {
  std::uint64_t bytes;
  std::size_t lives;  // allocations until it is freed
};
using LoopProgram = std::vector<LoopStep>;

inline LoopProgram training_loop(std::uint32_t seed, std::size_t layers = 12, std::uint64_t unit = 100'000) {
  std::mt19937 random(seed);
  LoopProgram p;
  std::size_t const total = layers * 6;
  for (std::size_t i = 0; i < layers; ++i) {
    p.push_back({unit * (8 + random() % 60), total - p.size() - 2 * i});
    p.push_back({unit * (1 + random() % 7) + 512 * i, 1 + random() % 3});
    p.push_back({unit * (3 + random() % 20), 2});
  }
  for (std::size_t i = 0; i < layers; ++i) {
    p.push_back({unit * (2 + random() % 9), 2});
    p.push_back({unit * (4 + random() % 30) + 512 * i, total - 3});
    p.push_back({unit * 5, 1});
  }
  return p;
}

// Runs on the allocator of a test.
class LoopRunner {
 public:
  explicit LoopRunner(AllocatorTest& test) : test_(test) {}
  LoopRunner(const LoopRunner&) = delete;
  LoopRunner& operator=(const LoopRunner&) = delete;
  ~LoopRunner() { free_everything(); }

  // Blocks are allocated, used and freed in this stream's order, as cudaMallocAsync does; without one, as cudaMalloc.
  void use(const AllocatorTest::Stream& stream, bool in_order) {
    stream_ = stream;
    has_stream_ = true;
    in_order_ = in_order;
  }
  void run(const LoopProgram& program, int times = 1) {
    for (int t = 0; t < times; ++t)
      for (const LoopStep& step : program) allocate(step.bytes, step.lives);
  }
  bool allocate(std::uint64_t bytes, std::size_t lives) {
    free_due();
    std::uint64_t const address = test_.allocate({bytes}, domain());
    ++now_;
    if (address == 0) return false;
    auto const next = live_.lower_bound(address);
    EXPECT_TRUE(next == live_.end() || next->first >= address + bytes) << "memory is shared";
    EXPECT_TRUE(next == live_.begin() || std::prev(next)->second.bytes + std::prev(next)->first <= address)
        << "memory is shared";
    live_[address] = {bytes, ++owners_, stream_, has_stream_, in_order_};
    due_.emplace(now_ - 1 + lives, address);
    live_bytes_ += round_up(bytes, kGranuleBytes);
    peak_ = std::max(peak_, live_bytes_);
    if (has_stream_) touch(address, true);
    return true;
  }
  void free_due() {
    while (!due_.empty() && due_.begin()->first <= now_) free_first();
  }
  void free_everything() {
    while (!due_.empty()) free_first();
  }
  std::uint64_t peak_live_bytes() const { return peak_; }
  void clear_peak() { peak_ = live_bytes_; }
  std::size_t live() const { return live_.size(); }

 private:
  struct Block {
    std::uint64_t bytes;
    std::uint64_t owner;
    AllocatorTest::Stream stream;  // in which it is used
    bool has_stream;
    bool in_order;  // and freed
  };
  DomainId domain() const { return in_order_ ? stream_.domain : DomainId::Shared; }
  void free_first() {
    std::uint64_t const address = due_.begin()->second;
    due_.erase(due_.begin());
    Block const block = live_.at(address);
    live_bytes_ -= round_up(block.bytes, kGranuleBytes);
    if (block.has_stream) touch(address, false);
    live_.erase(address);
    EXPECT_EQ(test_.allocator->free_in(address, block.in_order ? block.stream.domain : DomainId::Shared), Freed::Yes);
  }
  // Its first and last granule: the device is slow.
  void touch(std::uint64_t address, bool write) {
    Block const& block = live_.at(address);
    std::uint64_t const last = address + (block.bytes - 1) / kGranuleBytes * kGranuleBytes;
    test_.allocator->before_submission(block.stream.domain);
    for (std::uint64_t const at : {address, last}) {
      if (write) test_.device.stamp(block.stream.handle, at, 1, block.owner);
      test_.device.verify(block.stream.handle, at, 1, block.owner);
    }
    test_.allocator->after_submission(block.stream.domain);
  }

  AllocatorTest& test_;
  AllocatorTest::Stream stream_{};
  bool has_stream_ = false;
  bool in_order_ = false;
  std::multimap<std::uint64_t, std::uint64_t> due_;  // when, and which address
  std::map<std::uint64_t, Block> live_;
  std::uint64_t now_ = 0;
  std::uint64_t owners_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace tidemark::allocator
