// SPDX-License-Identifier: Apache-2.0
// The memory that a copy or a fill of the driver's names, told from its arguments.
#pragma once
#include <array>
#include <cstdint>

#include "interpose/order/order.h"

namespace tidemark::interpose::order {

struct Range {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
struct Ranges {
  std::array<Range, 2> ranges{};
  std::size_t count = 0;
};
// Host memory may be among them. None where the call is not known well enough, or where its numbers make no sense: then
// the driver says so.
Ranges ranges_of(const Entry& entry, const Arguments& arguments);
// The copies of a batch: so many, each of its own size. None where the call is no batch of plain copies.
struct Batch {
  const std::uint64_t* to = nullptr;
  const std::uint64_t* from = nullptr;
  const std::uint64_t* sizes = nullptr;
  std::size_t count = 0;
};
Batch batch_of(const Entry& entry, const Arguments& arguments);

}  // namespace tidemark::interpose::order
