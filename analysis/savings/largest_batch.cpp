// SPDX-License-Identifier: Apache-2.0
#include "analysis/savings/largest_batch.h"

#include <algorithm>
#include <cmath>

namespace tidemark::analysis {

LargestBatch::LargestBatch(const Question& question)
    : question_(question), fails_(std::max<std::uint64_t>(question.most / question.multiple, 1) + 1) {}

std::optional<std::uint64_t> LargestBatch::next() const {
  if (fails_ - fits_.count <= 1) return std::nullopt;
  return guess() * question_.multiple;
}

// Whether the trial brought the search on.
void LargestBatch::note(std::uint64_t low_before, std::uint64_t fails_before) {
  ++trials_;
  std::uint64_t const left = fails_ - fits_.count, before = fails_before - low_before;
  bool const far = failed_ ? left <= before / 2 : fits_.count >= 2 * low_before;
  stalled_ = far ? 0 : stalled_ + 1;
}

void LargestBatch::fits(std::uint64_t batch, std::uint64_t peak_bytes) {
  Point const point{batch / question_.multiple, peak_bytes};
  std::uint64_t const low = fits_.count;
  if (point.count > low) {
    before_ = fits_;
    fits_ = point;
  }
  note(low, fails_);
}

void LargestBatch::does_not_fit(std::uint64_t batch) {
  std::uint64_t const fails = fails_;
  failed_ = true;
  fails_ = std::min(fails_, batch / question_.multiple);
  note(fits_.count, fails);
}

std::uint64_t LargestBatch::halved() const {
  std::uint64_t const low = fits_.count;
  return failed_ ? low + (fails_ - low) / 2 : std::clamp(2 * low, low + 1, fails_ - 1);
}

std::uint64_t LargestBatch::guess() const {
  std::uint64_t const low = fits_.count, least = low + 1, most = fails_ - 1;
  if (trials_ == 0) return std::clamp(question_.first / question_.multiple, least, most);
  if (low == 0 || stalled_ >= 3) return halved();
  // With one point alone the line goes through nothing at no samples: too steep, and so never beyond the answer.
  double const rise = static_cast<double>(fits_.peak_bytes) - static_cast<double>(before_.peak_bytes);
  double const slope = rise / static_cast<double>(low - before_.count);
  double const room = static_cast<double>(question_.budget_bytes) - static_cast<double>(fits_.peak_bytes);
  if (!(slope > 0)) return halved();
  double const meets = std::floor(static_cast<double>(low) + std::max(room, 0.0) / slope);
  if (meets >= static_cast<double>(most)) return failed_ ? most : halved();
  return std::clamp(static_cast<std::uint64_t>(meets), least, most);
}

}  // namespace tidemark::analysis
