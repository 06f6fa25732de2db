// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/period.h"

#include <algorithm>
#include <bit>

namespace tidemark::plan {
namespace {

constexpr std::uint64_t kCredit = 4;
constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;  // odd, so that no event is lost from the product

std::uint64_t symbol(const AllocEvent& e) {
  std::uint64_t x = e.size_bytes ^ (std::uint64_t{e.domain} << 40) ^ (std::uint64_t{e.role} << 52);
  x *= 0xbf58476d1ce4e5b9;
  return (x ^ (x >> 31)) * 0x94d049bb133111eb;
}

constexpr std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t result = 1;
  while (exponent-- > 0) result *= base;
  return result;
}

}  // namespace

PeriodFinder::PeriodFinder(std::size_t longest_period)
    : longest_(std::max(longest_period, kWindow)), ring_(std::bit_ceil(2 * longest_)), seen_(2 * ring_.size()) {}

bool PeriodFinder::on_alloc(const AllocEvent& event) {
  constexpr std::uint64_t kOldest = power(kBase, kWindow - 1);
  std::uint64_t const number = count_++;
  credit_ = std::min<std::uint64_t>(credit_ + kCredit, ring_.size());
  if (number >= kWindow) window_ -= symbol(this->event(number - kWindow)) * kOldest;
  window_ = window_ * kBase + symbol(event);
  bool const same = candidate_ != 0 && event == this->event(number - candidate_);
  ring_[number % ring_.size()] = event;
  if (candidate_ != 0 && !same) broken();
  if (same) ++run_;
  if (candidate_ == 0) seek();
  if (count_ >= kWindow) seen_[(window_ ^ (window_ >> 32)) & (seen_.size() - 1)] = count_;
  if (accepted_ || candidate_ == 0 || run_ < candidate_ || run_ <= longest_broken_) return false;
  accepted_ = true;
  return true;
}

void PeriodFinder::broken() {
  // Loops come back in every iteration; what broke for another reason is forgotten in time.
  longest_broken_ = std::max(run_, longest_broken_ - longest_broken_ / 4);
  candidate_ = 0;
  run_ = 0;
  accepted_ = false;
}

// The last time these few events were seen, compared in full: a hash may be wrong.
void PeriodFinder::seek() {
  if (count_ < kWindow) return;
  std::uint64_t const then = seen_[(window_ ^ (window_ >> 32)) & (seen_.size() - 1)];
  if (then < kWindow || count_ - then > longest_ || count_ - then < kShortest) return;
  for (std::uint64_t i = 1; i <= kWindow; ++i)
    if (!(event(count_ - i) == event(then - i))) return;
  candidate_ = static_cast<std::size_t>(count_ - then);
  run_ = kWindow;
  for (; credit_ > 0 && run_ < then && known(then - run_ - 1); --credit_, ++run_)
    if (!(event(count_ - run_ - 1) == event(then - run_ - 1))) return;
}

bool PeriodFinder::marked_repeat() const {
  std::uint64_t const length = count_ - last_mark_;
  if (length == 0 || length > longest_ || last_mark_ < length) return false;
  for (std::uint64_t i = 1; i <= length; ++i)
    if (!(event(count_ - i) == event(count_ - i - length))) return false;
  return true;
}

void PeriodFinder::on_mark() {
  // Compares as many events as have come since the last mark: O(1) for each of them.
  if (!accepted_ && last_mark_ != UINT64_MAX && marked_repeat()) {
    candidate_ = static_cast<std::size_t>(count_ - last_mark_);
    run_ = std::max<std::uint64_t>(candidate_, longest_broken_);  // accepted with the next event that goes on
  }
  last_mark_ = count_;
}

std::optional<std::size_t> PeriodFinder::period() const {
  if (!accepted_) return std::nullopt;
  return candidate_;
}

}  // namespace tidemark::plan
