// SPDX-License-Identifier: Apache-2.0
// Runs an allocator over the lifetimes of a recorded program and says what it would have reserved.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "analysis/replay/lifetimes.h"
#include "base/result.h"

namespace tidemark::analysis {

// An allocator as a replay sees it.
class Rules {
 public:
  virtual ~Rules() = default;
  // A number by which the block is freed; 0: refused.
  virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  virtual void free(std::uint64_t block) = 0;
  virtual std::uint64_t reserved_bytes() const = 0;
  virtual std::uint64_t driver_calls() const = 0;
};

// How long a better layout of the loop is searched for. In looks (allocator/core/plan/stop.h) a replay is the same each
// time, in seconds it is but for what is found.
struct SearchTime {
  double seconds = 0;
  std::uint64_t looks = 0;
};
// The allocator itself, over a driver that only counts. It plans the loop that it sees, inside of an allocation.
std::unique_ptr<Rules> tidemark_rules(std::uint64_t peak_live_bytes, SearchTime search);
std::unique_ptr<Rules> pytorch_rules();     // PyTorch's caching allocator
std::unique_ptr<Rules> expandable_rules();  // the same with expandable segments
std::unique_ptr<Rules> ideal_rules();       // reserves exactly what is live

struct ReplayResult {
  std::string allocator;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t steady_reserved_bytes = 0;  // peak of the last repetition
  std::uint64_t driver_calls = 0;
  std::uint64_t steady_driver_calls = 0;  // of the last repetition
  double ns_per_op = 0;                   // of the last repetition; an allocation and a free are two
  double ratio() const;
  double steady_ratio() const;
};

struct ReplayOptions {
  std::string allocator;  // tidemark, pytorch, expandable or ideal
  std::uint64_t repetitions = 1;
  SearchTime search = {};  // of tidemark
};
// What is live at the end is freed before the next repetition.
Result<ReplayResult> replay(const Lifetimes& lifetimes, const ReplayOptions& options);

}  // namespace tidemark::analysis
