// SPDX-License-Identifier: Apache-2.0
#include "trace/read/sums.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tidemark::trace {
namespace {

struct Hash {
  std::size_t operator()(const SumRow& row) const { return row.hash(); }
};
struct Same {
  bool operator()(const SumRow& a, const SumRow& b) const { return a.same(b); }
};

class Sink {
 public:
  explicit Sink(const Past& past) {
    for (SumRow const& row : past.sums())
      width_ = std::max<unsigned>(width_, std::min<unsigned>(row.record().width, 64));
    for (StepSum const& row : past.steps())
      step_width_ = std::max<unsigned>(step_width_, std::min<unsigned>(row.width, 64));
    for (SumRow const& row : past.sums()) sum(row);
    for (StepSum const& row : past.steps()) merge(place_of(row.first, row.last), row);
  }

  void sum(const SumRow& row) {
    Sum key = row.record();
    key.width = width_;
    key.step = first_of_steps(key.step, width_);
    SumRow const wide = SumRow::of(key);
    auto const [found, fresh] = sums_.try_emplace(wide, wide);
    if (!fresh) found->second.add(wide);
  }
  StepSum& step(std::uint64_t number) {
    StepSum& row = place_of(number, number);
    row.first = std::min<std::uint64_t>(row.first, number);
    row.last = std::max<std::uint64_t>(row.last, number);
    return row;
  }
  void failure(const Context&, std::uint64_t, const Failure&) {}
  void device_use(std::uint64_t, const DeviceUse&) {}

  Sums finish() {
    Sums out{.width = width_, .step_width = step_width_};
    for (auto const& [key, row] : sums_)
      if (!row.nothing()) out.rows.push_back(row.record());
    std::sort(out.rows.begin(), out.rows.end(), [](const Sum& a, const Sum& b) {
      SumRow const x = SumRow::of(a), y = SumRow::of(b);
      return std::tuple(x.step, x.path, x.what) < std::tuple(y.step, y.path, y.what);
    });
    for (auto const& [group, row] : steps_) out.steps.push_back(row);
    return out;
  }

 private:
  StepSum& place_of(std::uint64_t first, std::uint64_t last) {
    return steps_
        .try_emplace(first_of_steps(first, step_width_), StepSum{.width = step_width_, .first = first, .last = last})
        .first->second;
  }

  unsigned width_ = 0, step_width_ = 0;
  std::unordered_map<SumRow, SumRow, Hash, Same> sums_;
  std::map<std::uint64_t, StepSum> steps_;
};

}  // namespace

Sums sum_up(const Trace& trace) {
  Sink sink(trace.past());
  for (std::size_t i = 0; i < trace.event_chunks(); ++i) {
    std::span<const Slot> const slots = trace.chunk_slots(i);
    Summing(sink, trace.chunk_head(i)).read(slots.data(), slots.data() + slots.size());
  }
  FileHeader const& h = trace.header();
  if (h.ring_bytes != 0 && h.ring.step_begin_ticks != 0)
    merge(sink.step(h.ring.step), StepSum{.first = h.ring.step,
                                          .last = h.ring.step,
                                          .begin_ticks = h.ring.step_begin_ticks,
                                          .end_ticks = std::max(h.latest.ticks, h.ring.step_begin_ticks),
                                          .peak_live_bytes = h.ring.step_peak_live_bytes,
                                          .end_live_bytes = h.totals.live_bytes});
  return sink.finish();
}

}  // namespace tidemark::trace
