// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/planner.h"

#include <bit>
#include <string>

#include "allocator/core/plan/solver.h"
#include "base/bytes.h"

namespace tidemark::plan {
namespace {

Error senseless(std::size_t i, const std::string& what, const std::string& hint) {
  return {Errc::InvalidArgument, "buffer " + std::to_string(i) + " " + what, hint};
}

Result<void> check(Buffers buffers) {
  constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 40;
  constexpr std::size_t kMost = 1U << 30;
  if (buffers.size() > kMost) return Error{Errc::InvalidArgument, "more than a thousand million buffers", "split them"};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Buffer const& b = buffers[i];
    if (b.lower >= b.upper) return senseless(i, "ends before it begins", "lower must be less than upper");
    if (b.upper > kLargest) return senseless(i, "lives too late", "times are at most 2^62");
    if (!std::has_single_bit(b.alignment) || b.alignment > kMostAlignment)
      return senseless(i, "has a strange alignment", "a power of two, at most 2^40");
    if (b.size_bytes > kLargest / 2 - b.alignment || total > kLargest / 2 - b.size_bytes - b.alignment)
      return senseless(i, "makes the sum of all sizes too large", "2^61 bytes at most");
    total += b.size_bytes + b.alignment;
  }
  return {};
}

Error nothing_fits(const Solver& solver, std::uint64_t capacity) {
  std::string const room = std::to_string(capacity) + " bytes";
  if (solver.bound_bytes() > capacity)
    return {Errc::LimitExceeded,
            "no layout fits into " + room + ": " + std::to_string(solver.bound_bytes()) + " are alive at once",
            "a capacity of at least that much"};
  if (solver.impossible())
    return {Errc::LimitExceeded, "no layout fits into " + room + ": every one was ruled out",
            "a capacity above " + room + "; one that fits into " + std::to_string(solver.best()->height) + " is known"};
  return {
      Errc::NotFound, "no layout within " + room + " was found in time",
      "allow more time, or a capacity of " + std::to_string(solver.best()->height) + " bytes, which is known to do"};
}

Result<Plan> solve(Buffers buffers, std::uint64_t period, const Options& options) {
  if (auto sound = check(buffers); !sound.ok()) return sound.error();
  for (Buffer const& b : buffers)
    if (period != 0 && b.upper - b.lower > period)
      return senseless(static_cast<std::size_t>(&b - buffers.data()), "lives longer than a period",
                       "lay out several periods side by side");
  Solver solver(buffers, period, options);
  solver.run();
  if (solver.defect()) return *solver.defect();
  if (options.capacity && (!solver.best() || solver.best()->height > *options.capacity))
    return nothing_fits(solver, *options.capacity);
  return Plan{
      .layout = *solver.best(), .bound = solver.bound_bytes(), .least = solver.least(), .seconds = solver.seconds()};
}

}  // namespace

Result<Plan> plan_layout(Buffers buffers, const Options& options) {
  return solve(buffers, 0, options);
}

Result<Plan> plan_ring(Buffers buffers, std::uint64_t period, const Options& options) {
  if (period == 0 || period > kLargest / 4)
    return Error{Errc::InvalidArgument, "not a period: " + std::to_string(period), "1 to 2^60"};
  return solve(buffers, period, options);
}

}  // namespace tidemark::plan
