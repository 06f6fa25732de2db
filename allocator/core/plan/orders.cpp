// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tidemark::plan {

std::span<const Order> orders() {
  static constexpr Order kOrders[] = {{.size_power = 0.25, .length_power = 1}, {.size_power = 1, .length_power = 1},
                                      {.size_power = 0.5, .length_power = 1},  {.size_power = 1, .length_power = 0.25},
                                      {.size_power = 1, .length_power = 0.5},  {.size_power = 1, .length_power = 0.75},
                                      {.size_power = 1, .length_power = 3},    {.size_power = 0.05, .length_power = 1},
                                      {.size_power = 1, .length_power = 0}};
  return kOrders;
}

std::span<const Order> gap_orders() {
  static constexpr Order kOrders[] = {{.size_power = 1, .length_power = 0.2}, {.size_power = 1, .length_power = 0.1},
                                      {.size_power = 1, .length_power = 0.3}, {.size_power = 0.25, .length_power = 1},
                                      {.size_power = 1, .length_power = 1},   {.size_power = 0.5, .length_power = 1},
                                      {.size_power = 1, .length_power = 0.5}, {.size_power = 1, .length_power = 0.75},
                                      {.size_power = 1, .length_power = 3},   {.size_power = 0.05, .length_power = 1},
                                      {.size_power = 1, .length_power = 0}};
  return kOrders;
}

std::vector<double> weights(const Problem& problem, Order order) {
  std::vector<double> all;
  all.reserve(problem.arcs.size());
  for (Arc const& a : problem.arcs)
    all.push_back(order.size_power * std::log(static_cast<double>(a.size)) +
                  order.length_power * std::log(static_cast<double>(a.length())));
  return all;
}

std::vector<std::uint32_t> ranks(std::span<const double> weights) {
  std::vector<std::uint32_t> order(weights.size()), rank(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weights[a] > weights[b]; });
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

}  // namespace tidemark::plan
