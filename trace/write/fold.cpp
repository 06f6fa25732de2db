// SPDX-License-Identifier: Apache-2.0
#include "trace/write/fold.h"

namespace tidemark::trace {

bool Fold::start() {
  // A record gives two rows at most (a Relabel, of three slots), mostly one.
  sums_ = RowTable<SumRow>(kChunkSlots);
  steps_ = RowTable<StepRow>(kChunkSlots);
  return sums_ && steps_;
}

void Fold::read(const ChunkHeader& head, const Slot* begin, const Slot* end) {
  sums_.clear();
  steps_.clear();
  latest_ = nullptr;
  latest_step_ = nullptr;
  failure_count_ = 0;
  uses_.fill({});
  Summing(*this, head).read(begin, end);
}

void Fold::sum(const SumRow& row) {
  if (latest_ != nullptr && latest_->same(row)) return latest_->add(row);
  auto const [found, fresh] = sums_.find_or_add(row);
  if (!fresh) found->add(row);
  latest_ = found;
}

StepSum& Fold::step(std::uint64_t number) {
  if (latest_step_ == nullptr || latest_step_->group != number)
    latest_step_ = steps_.find_or_add({.sum = {.first = number, .last = number}, .group = number}).first;
  return latest_step_->sum;
}

void Fold::failure(const Context& context, std::uint64_t ticks, const Failure& r) {
  if (failure_count_ < kMostFailures) failures_[failure_count_++] = {.ticks = ticks, .context = context, .record = r};
}

void Fold::device_use(std::uint64_t ticks, const DeviceUse& r) {
  Kept<DeviceUse>& place = uses_[place_of(r)];
  if (ticks >= place.ticks) place = {.ticks = ticks, .record = r};
}

}  // namespace tidemark::trace
