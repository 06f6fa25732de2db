// SPDX-License-Identifier: Apache-2.0
// Orders in which arcs are placed. No one is best on all instances: size alone is good where lifetimes nest, lifetimes
// first where iterations repeat, products in between.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/core/plan/problem.h"

namespace tidemark::plan {

// Weight of an arc: size^size_power * length^length_power; the heaviest comes first.
struct Order {
  double size_power = 1;
  double length_power = 0;
};

// Promising ones first: for the skyline, and for gaps, where large ones come first and small ones fill what is left.
std::span<const Order> orders();
std::span<const Order> gap_orders();
std::vector<double> weights(const Problem& problem, Order order);
// The place of each arc when they are sorted by falling weight; equal ones stay in order.
std::vector<std::uint32_t> ranks(std::span<const double> weights);

}  // namespace tidemark::plan
