// SPDX-License-Identifier: Apache-2.0
#include "trace/read/past.h"

#include <algorithm>

namespace tidemark::trace {

void Past::add_checkpoint(std::uint64_t number, const Slot* begin, const Slot* end) {
  for_each_record(begin, end, [&](const Slot* at, unsigned slots) {
    if (tag_of(at->first) == Tag::Live && slots == kSlots<Live>) blocks_.push_back(decode<Live>(at));
    if (tag_of(at->first) == Tag::CheckpointHead && slots == kSlots<CheckpointHead>) {
      auto const r = decode<CheckpointHead>(at);
      if (r.number == number) base_ = Base{r.begin_ticks, std::max(r.begin_ticks, r.end_ticks), r.step, {}};
    }
  });
}

void Past::add_sums(const Slot* begin, const Slot* end) {
  for_each_record(begin, end, [this](const Slot* at, unsigned slots) { apply(at, slots); });
}

void Past::apply(const Slot* at, unsigned slots) {
  switch (tag_of(at->first)) {
    case Tag::Sum:
      if (slots == kSlots<Sum>) open_.sums.push_back(SumRow::of(decode<Sum>(at)));
      return;
    case Tag::StepSum:
      if (slots == kSlots<StepSum>) open_.steps.push_back(decode<StepSum>(at));
      return;
    case Tag::Resume:
      if (slots == kSlots<Resume>) {
        auto const r = decode<Resume>(at);
        at_.context = r.context;
        at_.base_ticks = r.base_ticks;
      }
      return;
    case Tag::TimeBase: at_.base_ticks = decode<TimeBase>(at).ticks; return;
    case Tag::Failure:
    case Tag::DeviceUse: {
      Event e;
      if (ChunkReader(at_, at, at + slots).next(e)) open_.events.push_back(e);
      return;
    }
    case Tag::Folded:
      if (slots == kSlots<Folded>) {
        auto const r = decode<Folded>(at);
        if (r.chunk != 0) folded_.emplace(r.chunk, r.sequence);
        rows_.take(open_);
      }
      return;
    default: return;
  }
}

void Past::Rows::take(Rows& from) {
  sums.insert(sums.end(), from.sums.begin(), from.sums.end());
  steps.insert(steps.end(), from.steps.begin(), from.steps.end());
  events.insert(events.end(), from.events.begin(), from.events.end());
  from = {};
}

void Past::finish() {
  if (base_) {
    base_->blocks = std::move(blocks_);
    std::stable_sort(base_->blocks.begin(), base_->blocks.end(),
                     [](const Live& a, const Live& b) { return a.ticks < b.ticks; });
  }
  blocks_.clear();
  open_ = {};
  std::stable_sort(rows_.events.begin(), rows_.events.end(),
                   [](const Event& a, const Event& b) { return a.ticks < b.ticks; });
}

}  // namespace tidemark::trace
