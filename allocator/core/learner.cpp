// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/learner.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tidemark::allocator {

namespace {
constexpr std::uint64_t kMask = (std::uint64_t{1} << Learner::kNumberBits) - 1;
}

void Learner::start() {
  recorder_ = std::make_unique<plan::Recorder>();
  live_at_ = ReservedArray<std::int64_t>(std::bit_ceil(2 * recorder_->finder().longest_period()));
  if (!*recorder_ || !live_at_) stop();
  live_ = peak_ = 0;
  first_number_ = numbers_;
  accepted_at_ = events_without_period_ = 0;
}

void Learner::stop() {
  recorder_.reset();
  live_at_ = {};
}

std::uint32_t Learner::on_alloc(Granules granules) {
  bool const had = recorder_->finder().period().has_value();
  recorder_->on_alloc({.size_bytes = to_bytes(granules)});
  live_ += granules;
  peak_ = std::max(peak_, live_);
  live_at_[recorder_->finder().events() % live_at_.size()] = live_;
  if (recorder_->finder().period()) {
    if (!had) accepted_at_ = recorder_->finder().events();
    events_without_period_ = 0;
  } else {
    ++events_without_period_;
  }
  return static_cast<std::uint32_t>(numbers_++ & kMask);
}

void Learner::on_free(std::uint32_t number, Granules granules) {
  if (number == 0) return;
  std::uint64_t const whole = numbers_ - ((numbers_ - number) & kMask);
  if (whole < first_number_ || whole >= numbers_) return;
  live_ -= granules;
  recorder_->on_free(whole - first_number_);
}

void Learner::on_mark() {
  recorder_->on_mark();
}

bool Learner::has_iteration() {
  if (!recorder_->ready()) return false;
  auto const period = recorder_->finder().period();
  if (!period || held_events() + 2 * *period < kFewest) return false;
  std::uint64_t const now = recorder_->finder().events();
  std::int64_t const growth = live_ - live_at_[(now - *period) % live_at_.size()];
  if (now > *period && std::abs(growth) <= kLeak && reaches_peak(*period)) return true;
  recorder_->look_again();
  return false;
}

bool Learner::reaches_peak(std::size_t period) const {
  // What has gone on for so long is all that the program does, whatever it did before.
  if (held_events() > kSettled / 2) return true;
  std::uint64_t const now = recorder_->finder().events();
  std::int64_t highest = 0;
  for (std::uint64_t n = now - period; n < now; ++n) highest = std::max(highest, live_at_[(n + 1) % live_at_.size()]);
  return highest * 100 >= peak_ * kPeakPercent;
}

plan::Recorded Learner::take() {
  return recorder_->take(kGranuleBytes);
}

void Learner::look_again() {
  recorder_->look_again();
}

std::uint64_t Learner::held_events() const {
  if (!recorder_->finder().period()) return 0;
  return recorder_->finder().events() - accepted_at_ + 1;
}

bool Learner::goes_on(const plan::Recorded& iteration) const {
  return recorder_ && recorder_->finder().period() == iteration.events.size();
}

bool Learner::is_at(const plan::Recorded& iteration, std::size_t event) const {
  if (!goes_on(iteration)) return false;
  return (recorder_->finder().events() - iteration.first) % iteration.events.size() == event;
}

}  // namespace tidemark::allocator
