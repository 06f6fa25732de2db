// SPDX-License-Identifier: Apache-2.0
#include "analysis/walk.h"

#include <unordered_map>

namespace tidemark::analysis {
namespace {

using Why = Observer::Why;

class Walk {
 public:
  Walk(const History& history, const Selection& selection, const Baselines& baselines, Instant until,
       std::span<Observer* const> observers)
      : h_(history),
        selection_(selection),
        reserved_(history, selection, baselines),
        until_(until),
        observers_(observers),
        found_(history.folded ? history.folded->changes : 0) {}

  Walked run() {
    marks();
    while (a_.at < until_.at && a_.at < h_.changes.size()) {
      change(h_.changes[a_.at++]);
      marks();
    }
    return {a_, reserved_.source()};
  }

 private:
  template <class Mark>
  bool due(const std::vector<Mark>& marks, std::size_t next) const {
    return next < marks.size() && marks[next].at <= a_.at && marks[next].time_ns <= until_.time_ns;
  }
  // What happened after as many changes as there were so far.
  void marks() {
    for (; due(h_.steps, step_); ++step_) {
      a_.time_ns = h_.steps[step_].time_ns;
      for (Observer* const o : observers_) o->step_begins(a_, static_cast<std::uint32_t>(step_));
    }
    for (; a_.retags < until_.retags && due(h_.retags, a_.retags);) rename(h_.retags[a_.retags++]);
    for (; due(h_.samples, sample_); ++sample_) {
      reserved_.sample(h_.samples[sample_]);
      a_.time_ns = h_.samples[sample_].time_ns;
      a_.reserved_bytes = reserved_.bytes();
      a_.device_used_bytes = reserved_.device_used_bytes();
      settled();
    }
  }

  void change(Change c) {
    Block const& b = h_.blocks[c.block];
    trace::Kind const kind = kind_of(c.block, b);
    if (selection_(b, kind)) {
      if (c.freed)
        leave(b, kind, Why::Freed);
      else
        enter(b, kind, a_.at <= found_ ? Why::Found : Why::Born);
    }
    if (c.freed)
      reserved_.died(b);
    else
      reserved_.born(b);
    a_.time_ns = a_.at == found_ ? h_.folded->begin_ns : h_.time_of(c);
    a_.reserved_bytes = reserved_.bytes();
    settled();
  }

  void rename(const Retag& r) {
    Block const& b = h_.blocks[r.block];
    trace::Kind const before = kind_of(r.block, b);
    if (selection_(b, before)) leave(b, before, Why::Renamed);
    if (selection_(b, r.kind)) enter(b, r.kind, Why::Renamed);
    kinds_[r.block] = r.kind;
    a_.time_ns = r.time_ns;
    settled();
  }

  trace::Kind kind_of(std::uint32_t block, const Block& b) const {
    if (!b.retagged) return b.kind;
    auto const found = kinds_.find(block);
    return found == kinds_.end() ? b.kind : found->second;
  }
  void enter(const Block& b, trace::Kind kind, Why why) {
    a_.live_bytes += rounded_bytes(b);
    a_.requested_bytes += b.size_bytes;
    for (Observer* const o : observers_) o->enter(b, kind, why);
  }
  void leave(const Block& b, trace::Kind kind, Why why) {
    a_.live_bytes -= rounded_bytes(b);
    a_.requested_bytes -= b.size_bytes;
    for (Observer* const o : observers_) o->leave(b, kind, why);
  }
  void settled() {
    if (a_.at < found_) return;  // what was found, was there at once
    for (Observer* const o : observers_) o->settled(a_);
  }

  const History& h_;
  const Selection& selection_;
  Reserved reserved_;
  Instant until_;
  std::span<Observer* const> observers_;
  std::uint64_t found_;  // changes that are none: what was alive when the events begin
  Account a_;
  std::size_t step_ = 0, sample_ = 0;
  std::unordered_map<std::uint32_t, trace::Kind> kinds_;  // of blocks that were called something else meanwhile
};

}  // namespace

Walked walk(const History& history, const Selection& selection, const Baselines& baselines, Instant until,
            std::span<Observer* const> observers) {
  return Walk(history, selection, baselines, until, observers).run();
}

}  // namespace tidemark::analysis
