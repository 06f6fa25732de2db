// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/replay.h"

#include <algorithm>
#include <chrono>

namespace tidemark::analysis {

namespace {

std::unique_ptr<Rules> rules_of(const ReplayOptions& options, const Lifetimes& lifetimes) {
  if (options.allocator == "tidemark") return tidemark_rules(lifetimes.peak_live_bytes(), options.search);
  if (options.allocator == "pytorch") return pytorch_rules();
  if (options.allocator == "expandable") return expandable_rules();
  if (options.allocator == "ideal") return ideal_rules();
  return nullptr;
}

double divided(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

double ReplayResult::ratio() const {
  return divided(peak_reserved_bytes, peak_live_bytes);
}
double ReplayResult::steady_ratio() const {
  return divided(steady_reserved_bytes, peak_live_bytes);
}

Result<ReplayResult> replay(const Lifetimes& lifetimes, const ReplayOptions& options) {
  std::unique_ptr<Rules> const rules = rules_of(options, lifetimes);
  if (!rules) return Error{Errc::InvalidArgument, "no such allocator: " + options.allocator, ""};
  ReplayResult result{.allocator = options.allocator, .peak_live_bytes = lifetimes.peak_live_bytes()};
  std::vector<std::uint64_t> blocks(lifetimes.bytes.size());
  for (std::uint64_t repetition = 0; repetition < options.repetitions; ++repetition) {
    std::uint64_t peak = rules->reserved_bytes();
    std::uint64_t const calls = rules->driver_calls();
    double seconds = 0;
    std::uint64_t count = 0;
    auto begin = std::chrono::steady_clock::now();
    for (Lifetimes::Operation const& operation : lifetimes.operations) {
      std::uint64_t& block = blocks[operation.block];
      if (operation.free) {
        rules->free(block);
        block = 0;
      } else {
        block = rules->allocate(lifetimes.bytes[operation.block]);
        if (block == 0) return Error{Errc::OutOfMemory, "the replay ran out of memory", ""};
        // Asked at a moment that can be the peak; the question itself is not the allocator's time.
        auto const end = std::chrono::steady_clock::now();
        seconds += std::chrono::duration<double>(end - begin).count();
        peak = std::max(peak, rules->reserved_bytes());
        begin = std::chrono::steady_clock::now();
      }
      ++count;
    }
    for (std::uint64_t& block : blocks)
      if (block != 0) {
        rules->free(block);
        block = 0;
      }
    result.peak_reserved_bytes = std::max(result.peak_reserved_bytes, peak);
    result.steady_reserved_bytes = peak;
    result.steady_driver_calls = rules->driver_calls() - calls;
    result.ns_per_op = count == 0 ? 0 : seconds * 1e9 / static_cast<double>(count);
  }
  result.driver_calls = rules->driver_calls();
  return result;
}

}  // namespace tidemark::analysis
