// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/recorder.h"

#include <bit>

namespace tidemark::plan {

Recorder::Recorder(std::size_t longest_period)
    // Two periods and a third are looked back at.
    : finder_(longest_period), lifetimes_(std::bit_ceil(3 * finder_.longest_period())) {}

std::uint64_t Recorder::on_alloc(const AllocEvent& event) {
  std::uint64_t const number = finder_.events();
  lifetimes_[number % lifetimes_.size()] = {.begin = clock_++, .end = kNever};
  if (finder_.on_alloc(event)) accepted_ = {finder_.events(), *finder_.period()};
  return number;
}

void Recorder::on_free(std::uint64_t allocation) {
  std::uint64_t const now = clock_++;
  if (allocation >= finder_.events() || finder_.events() - allocation > lifetimes_.size()) return;
  Lifetime& life = lifetimes_[allocation % lifetimes_.size()];
  if (life.end == kNever) life.end = now;
}

bool Recorder::ready() const {
  if (!accepted_ || finder_.events() < accepted_->at + accepted_->period / 3) return false;
  std::uint64_t const first = accepted_->at - 2 * accepted_->period;
  return finder_.known(first + accepted_->period) && finder_.events() - first <= lifetimes_.size();
}

void Recorder::look_again() {
  if (auto const period = finder_.period()) accepted_ = {finder_.events(), *period};
}

Recorded Recorder::take(std::uint64_t alignment) {
  std::uint64_t const period = accepted_->period, first = accepted_->at - 2 * period;
  accepted_.reset();
  Recorded r;
  r.first = first;
  std::uint64_t const begin = lifetime(first).begin;
  r.iteration.period = lifetime(first + period).begin - begin;
  r.iteration.alignment = alignment;
  for (std::uint64_t n = first; n < first + period; ++n) {
    // The events of one period later, which are the same and surely still known.
    r.events.push_back(finder_.event(n + period));
    Lifetime const& life = lifetime(n);
    r.iteration.blocks.push_back({.begin = life.begin - begin,
                                  .end = life.end == kNever ? kNever : life.end - begin,
                                  .size_bytes = r.events.back().size_bytes});
  }
  return r;
}

}  // namespace tidemark::plan
