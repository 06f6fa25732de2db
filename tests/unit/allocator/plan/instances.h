// SPDX-License-Identifier: Apache-2.0
// Instances for the planner's tests: random ones by seed, and the least height of small ones by trying everything.
#pragma once
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "allocator/core/plan/buffer.h"

namespace tidemark::plan::testing {

struct Kind {
  std::size_t count = 6;
  std::uint64_t times = 8, longest = 8, largest = 6, alignments = 1;
};

inline std::vector<Buffer> random_buffers(std::uint64_t seed, const Kind& kind) {
  std::mt19937_64 random(seed);
  auto const upto = [&](std::uint64_t n) { return random() % n; };
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < kind.count; ++i) {
    std::uint64_t const lower = upto(kind.times);
    buffers.push_back({.lower = lower,
                       .upper = lower + 1 + upto(kind.longest),
                       .size_bytes = 1 + upto(kind.largest),
                       .alignment = std::uint64_t{1} << upto(kind.alignments)});
  }
  return buffers;
}

// Whether two meet; with a period, in any of its rounds.
inline bool meet(const Buffer& a, const Buffer& b, std::uint64_t period) {
  if (period == 0) return a.lower < b.upper && b.lower < a.upper;
  auto const starts_in = [&](const Buffer& x, const Buffer& y) {
    return (y.lower % period + period - x.lower % period) % period < x.upper - x.lower;
  };
  return starts_in(a, b) || starts_in(b, a);
}

// Some order of placing each as low as it goes is that of an optimal layout: try all.
inline std::uint64_t least_height(const std::vector<Buffer>& buffers, std::uint64_t period = 0) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t least = UINT64_MAX;
  do {
    std::vector<std::uint64_t> offset(buffers.size());
    std::uint64_t height = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      Buffer const& b = buffers[order[k]];
      std::uint64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < k; ++i) {
          Buffer const& o = buffers[order[i]];
          std::uint64_t const from = offset[order[i]], to = from + o.size_bytes;
          if (!meet(b, o, period) || at >= to || from >= at + b.size_bytes) continue;
          at = (to + b.alignment - 1) / b.alignment * b.alignment;
          moved = true;
        }
      }
      offset[order[k]] = at;
      height = std::max(height, at + b.size_bytes);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// A training iteration: activations that end in reverse order, temporaries, gradients that outlive the iteration.
inline std::vector<Buffer> training(std::size_t layers, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Buffer> buffers;
  std::vector<std::size_t> kept;
  std::uint64_t now = 0;
  auto const add = [&](std::uint64_t lifetime) {
    buffers.push_back(
        {.lower = now, .upper = now + lifetime, .size_bytes = 512 * (1 + random() % 64), .alignment = 512});
    ++now;
    return buffers.size() - 1;
  };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (int i = 0; i < 3; ++i) kept.push_back(add(1));
    for (int i = 0; i < 2; ++i) add(1 + random() % 4);
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (int i = 0; i < 3; ++i) add(1 + random() % 6);
    for (int i = 0; i < 3; ++i) {
      buffers[kept.back()].upper = ++now;
      kept.pop_back();
    }
  }
  return buffers;
}

}  // namespace tidemark::plan::testing
