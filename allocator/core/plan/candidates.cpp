// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/candidates.h"

#include <algorithm>

namespace tidemark::plan {

Candidates::Candidates(const Problem& problem) : problem_(problem) {
  auto const count = static_cast<std::uint32_t>(problem.arcs.size());
  while (leaves_ < count) leaves_ *= 2;
  first_.assign(problem.sections + 1, count);
  for (std::uint32_t i = count; i-- > 0;) first_[problem.arcs[i].begin] = i;
  for (std::uint32_t s = problem.sections; s-- > 0;) first_[s] = std::min(first_[s], first_[s + 1]);
}

void Candidates::restart(std::span<const std::uint32_t> rank) {
  auto const count = static_cast<std::uint32_t>(problem_.arcs.size());
  nodes_.assign(2 * static_cast<std::size_t>(leaves_), {});
  by_rank_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    nodes_[leaves_ + i] = {rank[i], problem_.arcs[i].end};
    by_rank_[rank[i]] = i;
  }
  for (std::uint32_t i = leaves_; i-- > 1;)
    nodes_[i] = {std::min(nodes_[2 * i].rank, nodes_[2 * i + 1].rank),
                 std::min(nodes_[2 * i].end, nodes_[2 * i + 1].end)};
}

void Candidates::remove(std::uint32_t arc) {
  std::uint32_t i = leaves_ + arc;
  nodes_[i] = {};
  for (i /= 2; i > 0; i /= 2)
    nodes_[i] = {std::min(nodes_[2 * i].rank, nodes_[2 * i + 1].rank),
                 std::min(nodes_[2 * i].end, nodes_[2 * i + 1].end)};
}

std::uint32_t Candidates::best_within(std::uint32_t first, std::uint32_t last) const {
  Query const query{first_[first], first_[std::min(last, problem_.sections)], last};
  std::uint32_t best = kNone;
  if (query.from < query.to) search(1, 0, leaves_, query, best);
  return best == kNone ? kNone : by_rank_[best];
}

std::uint32_t Candidates::best_of_all() const {
  return nodes_[1].rank == kNone ? kNone : by_rank_[nodes_[1].rank];
}

void Candidates::search(std::uint32_t node, std::uint32_t low, std::uint32_t high, const Query& query,
                        std::uint32_t& best) const {
  if (high <= query.from || low >= query.to) return;
  if (nodes_[node].rank >= best || nodes_[node].end > query.last) return;
  if (high - low == 1) {
    best = nodes_[node].rank;
    return;
  }
  std::uint32_t const middle = (low + high) / 2;
  // The better half first: it often rules the other one out.
  bool const left = nodes_[2 * node].rank < nodes_[2 * node + 1].rank;
  if (left) search(2 * node, low, middle, query, best);
  search(2 * node + 1, middle, high, query, best);
  if (!left) search(2 * node, low, middle, query, best);
}

}  // namespace tidemark::plan
