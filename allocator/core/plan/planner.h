// SPDX-License-Identifier: Apache-2.0
// Static planning: offsets for buffers whose lifetimes are known, as low as possible or within a capacity.
//   auto const plan = plan_layout(buffers, {.capacity = 1 << 20, .budget_seconds = 10});
// At once: a portfolio of orders, each placed by the skyline, then into the lowest and the tightest gap; of small
// problems, a little of what comes next. Then, until the budget is spent, local search over orders and the complete
// search take turns. What is done at once is limited by the work, not by the time, and so is the rest where its budget
// is one of looks: then the answer does not depend on the machine. Whatever comes out has passed `verify`. May be
// called from any number of threads; a call uses one.
#pragma once
#include <atomic>
#include <functional>
#include <optional>

#include "allocator/core/plan/buffer.h"
#include "base/result.h"

namespace tidemark::plan {

struct Progress {
  std::uint64_t height = 0;  // the best so far
  std::uint64_t bound = 0;   // no layout is lower
  double seconds = 0;
};

struct Options {
  std::optional<std::uint64_t> capacity = {};  // the first layout that fits will do; without: as low as possible
  double budget_seconds = 0;                   // for improvement after what is done at once
  std::uint64_t budget_looks = 0;              // the same in work (stop.h); with both, what is reached first ends it
  const std::atomic<bool>* cancel = nullptr;   // set by another thread: the best so far is returned
  std::function<void(const Progress&)> progress = {};  // called a few times a second at most
  std::uint64_t seed = 1;
  // Memory comes in grains, after so much that is there anyway: heights of equally many are equally good.
  std::uint64_t grain_bytes = 1;
  std::uint64_t given_bytes = 0;
};

inline std::uint64_t grains(std::uint64_t height, const Options& options) {
  std::uint64_t const more = height > options.given_bytes ? height - options.given_bytes : 0;
  return (more + options.grain_bytes - 1) / options.grain_bytes;
}

struct Plan {
  Layout layout;
  std::uint64_t bound = 0;  // largest sum of sizes alive at once
  bool least = false;       // proved: there is no lower one
  double seconds = 0;
};

// Errors: InvalidArgument (buffers that make no sense), LimitExceeded (proved: nothing fits into the capacity),
// NotFound (nothing that fits was found in time).
Result<Plan> plan_layout(Buffers buffers, const Options& options);

// The same for buffers that come again every `period` without end, and live for at most one (circular.h has more).
// Times are taken modulo the period.
Result<Plan> plan_ring(Buffers buffers, std::uint64_t period, const Options& options);

}  // namespace tidemark::plan
