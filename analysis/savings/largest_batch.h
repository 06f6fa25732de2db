// SPDX-License-Identifier: Apache-2.0
// The search for the largest batch that fits: says which batch to try next, and is told how it went. The answer is
// proven by two trials, one that fitted and one, the next larger batch, that did not.
//
// Memory grows nearly linearly with the batch, so the next trial is where the line through the largest two that fitted
// meets the budget; where three such guesses have not halved what is left, a bisection does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tidemark::analysis {

class LargestBatch {
 public:
  struct Question {
    std::uint64_t budget_bytes = 0;
    std::uint64_t first = 1;     // the first to try
    std::uint64_t multiple = 1;  // batches are multiples of it
    std::uint64_t most = std::uint64_t{1} << 30;
  };
  explicit LargestBatch(const Question& question);

  // Nothing: the answer is known. The same until it is told how it went.
  std::optional<std::uint64_t> next() const;
  void fits(std::uint64_t batch, std::uint64_t peak_bytes);
  void does_not_fit(std::uint64_t batch);

  // 0: not even the smallest.
  std::uint64_t answer() const { return fits_.count * question_.multiple; }
  std::size_t trials() const { return trials_; }

 private:
  // Counted in multiples.
  struct Point {
    std::uint64_t count = 0, peak_bytes = 0;
  };
  std::uint64_t guess() const;
  std::uint64_t halved() const;  // or doubled, while no end has been seen
  void note(std::uint64_t low_before, std::uint64_t fails_before);

  Question question_;
  Point fits_, before_;      // the largest that fitted, and the one before; 0: none yet
  std::uint64_t fails_ = 0;  // the smallest that did not, or what is beyond all
  bool failed_ = false;      // that has been seen
  std::size_t trials_ = 0, stalled_ = 0;
};

}  // namespace tidemark::analysis
