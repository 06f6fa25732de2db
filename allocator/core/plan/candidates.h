// SPDX-License-Identifier: Apache-2.0
// Arcs that wait for a place, ordered by where they begin: finds the one of best rank that lies within a stretch of
// sections. A tree over the arcs with the best rank and the earliest end of each part; a stretch that holds most of its
// arcs is answered in a few steps.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/core/plan/problem.h"

namespace tidemark::plan {

class Candidates {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Candidates(const Problem& problem);
  // All arcs wait again; rank[i] of arc i, smaller is better, no two alike.
  void restart(std::span<const std::uint32_t> rank);
  void remove(std::uint32_t arc);
  // The best arc with first <= begin and end <= last, or kNone.
  std::uint32_t best_within(std::uint32_t first, std::uint32_t last) const;
  std::uint32_t best_of_all() const;

 private:
  struct Node {
    std::uint32_t rank = kNone;
    std::uint32_t end = kNone;
  };
  struct Query {
    std::uint32_t from, to, last;  // positions [from, to)
  };
  void search(std::uint32_t node, std::uint32_t low, std::uint32_t high, const Query& query, std::uint32_t& best) const;

  const Problem& problem_;
  std::vector<std::uint32_t> first_;  // position of the first arc that begins at or after a section
  std::vector<std::uint32_t> by_rank_;
  std::vector<Node> nodes_;
  std::uint32_t leaves_ = 1;
};

}  // namespace tidemark::plan
