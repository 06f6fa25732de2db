// SPDX-License-Identifier: Apache-2.0
#include "trace/read/sums.h"

#include <algorithm>
#include <map>
#include <tuple>
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
  explicit Sink(unsigned width) : width_(width) {}

  void sum(const SumRow& row) {
    Sum key = row.record();
    key.width = width_;
    key.step = first_of_steps(key.step, width_);
    SumRow const wide = SumRow::of(key);
    auto const [found, fresh] = sums_.try_emplace(wide, wide);
    if (!fresh) found->second.add(wide);
  }
  StepSum& step(std::uint64_t number) {
    return steps_.try_emplace(number, StepSum{.first = number, .last = number}).first->second;
  }
  void failure(const Context&, std::uint64_t, const Failure&) {}
  void device_use(std::uint64_t, const DeviceUse&) {}

  void give(Sums& out) const {
    for (auto const& [key, row] : sums_)
      if (!row.nothing()) out.rows.push_back(row.record());
    std::sort(out.rows.begin(), out.rows.end(), [](const Sum& a, const Sum& b) {
      SumRow const x = SumRow::of(a), y = SumRow::of(b);
      return std::tuple(x.step, x.path, x.what) < std::tuple(y.step, y.path, y.what);
    });
    for (auto const& [number, row] : steps_) out.counted.push_back(row);
  }

 private:
  unsigned width_;
  std::unordered_map<SumRow, SumRow, Hash, Same> sums_;
  std::map<std::uint64_t, StepSum> steps_;
};

// The step that was running is not over.
std::vector<StepSum> said_by(const Trace& trace) {
  std::vector<StepSum> rows = trace.past().steps();
  FileHeader const& h = trace.header();
  if (h.ring_bytes != 0 && h.ring.step_begin_ticks != 0)
    rows.push_back({.first = h.ring.step,
                    .last = h.ring.step,
                    .begin_ticks = h.ring.step_begin_ticks,
                    .end_ticks = std::max(h.latest.ticks, h.ring.step_begin_ticks),
                    .peak_live_bytes = h.ring.step_peak_live_bytes,
                    .end_live_bytes = h.totals.live_bytes});
  return rows;
}

}  // namespace

Sums sum_up(const Trace& trace) {
  Sums out;
  for (SumRow const& row : trace.past().sums())
    out.width = std::max(out.width, std::min<unsigned>(row.record().width, 64));
  Sink sink(out.width);
  for (SumRow const& row : trace.past().sums()) sink.sum(row);
  for (std::size_t i = 0; i < trace.event_chunks(); ++i) {
    std::span<const Slot> const slots = trace.chunk_slots(i);
    Summing(sink, trace.chunk_head(i)).read(slots.data(), slots.data() + slots.size());
  }
  sink.give(out);
  out.said = said_by(trace);
  for (StepSum const& row : out.said) out.step_width = std::max(out.step_width, std::min<unsigned>(row.width, 64));
  return out;
}

}  // namespace tidemark::trace
