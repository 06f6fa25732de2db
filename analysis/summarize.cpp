// SPDX-License-Identifier: Apache-2.0
#include "analysis/summarize.h"

#include <algorithm>
#include <numeric>

#include "analysis/anatomy.h"
#include "analysis/facts.h"
#include "analysis/presence.h"
#include "analysis/served.h"
#include "analysis/stacks.h"
#include "analysis/survey.h"
#include "analysis/timeline.h"

namespace tidemark::analysis {
namespace {

// A timeline for each layer is a lot of numbers; the rest of them keep next to nothing.
constexpr std::size_t kMostLayerTimelines = 256;

class Answer {
 public:
  Answer(const trace::Trace& trace, const Question& question)
      : question_(question),
        trace_(trace),
        history_(read_history(trace)),
        selection_(history_, question.filter),
        baselines_(read_baselines(trace)),
        contexts_(read_context_bytes(trace)),
        layers_(history_.layers.size()),
        steps_(history_.steps.size()) {
    s_.source = read_source(trace, history_);
    s_.devices = read_devices(trace, history_);
  }

  Result<Summary> give() {
    Presence const presence{.path = s_.source.path, .devices = s_.devices.size()};
    if (auto present = expect_present(history_, question_.filter, presence); !present.ok()) return present.error();
    survey();
    if (history_.folded) fold();
    dissect_peak();
    if (auto other = dissect_other(); !other.ok()) return other.error();
    layer_rows();
    step_rows();
    failure_rows();
    stacks();
    s_.layers_named = history_.layers.size() > 1;
    s_.stacks_recorded = history_.stacks.size() > 1;
    s_.classes = class_rows(history_, selection_);
    count_driver_calls();
    if (history_.folded) name_folded_peak();
    ledger();
    s_.cache = summarize_caches(history_, selection_);
    s_.late_frees = late_free_rows(history_, selection_);
    s_.filter = in_words(question_.filter);
    s_.partial = question_.filter.partial();
    return std::move(s_);
  }

 private:
  Shares shares() const {
    return {history_.folded ? history_.folded->begin_ns : 0, history_.end_ns,
            std::clamp<std::size_t>(question_.timeline_points, 1, kMostPoints)};
  }

  void survey() {
    Timeline timeline(shares());
    DevicePeaks devices;
    std::vector<Observer*> observers{&peak_, &layers_, &steps_, &devices};
    if (question_.timeline_points != 0) observers.push_back(&timeline);
    Walked const end = walk(history_, selection_, baselines_, kEnd, observers);
    if (question_.timeline_points != 0) s_.timeline = timeline.finish();
    s_.totals = peak_.totals();
    s_.peak_live_bytes = peak_.peak().live_bytes;
    s_.peak_requested_bytes = peak_.requested_bytes();
    s_.peak_reserved_bytes = peak_.reserved_bytes();
    s_.end_live_bytes = end.account.live_bytes;
    for (DeviceRow& d : s_.devices) d.peak_live_bytes = devices.peak_bytes(d.number);
    std::erase_if(s_.devices,
                  [&](const DeviceRow& d) { return !selection_.on_device(static_cast<std::uint8_t>(d.number)); });
    s_.reserved_from_driver = end.reserved_source == ReservedSource::Driver;
  }

  // A row of sums for a block by itself: where a framework's memory holds tensors only those count.
  static SummedRow row_of(const Block& b) {
    return {.layer = b.layer, .block_class = b.block_class, .phase = b.phase, .kind = b.kind, .device = b.device};
  }

  // Sums of a trace that was kept at a size are of the whole run, also of what is no longer there.
  void fold() {
    Folded const& f = *history_.folded;
    s_.folded.emplace();
    s_.folded->begin_ns = f.begin_ns;
    s_.folded->until_ns = f.whole_ns;
    s_.folded->failures = f.failures;
    if (!question_.filter.any()) {
      s_.peak_live_bytes = std::max(s_.peak_live_bytes, f.peak_live_bytes);
      s_.peak_requested_bytes = std::max(s_.peak_requested_bytes, f.peak_requested_bytes);
      s_.peak_reserved_bytes = std::max(s_.peak_reserved_bytes, f.peak_reserved_bytes);
    }
    if (!selection_.can_sum()) {
      s_.totals.allocations = peak_.alive() + s_.totals.frees;  // those that were seen
      return;
    }
    layer_allocations_.assign(history_.layers.size(), 0);
    s_.totals = {};
    auto const add = [this](const SummedRow& row, std::uint64_t allocations, std::uint64_t requested_bytes) {
      if (!selection_(row)) return;
      s_.totals.allocations += allocations;
      s_.totals.requested_bytes += requested_bytes;
      layer_allocations_[row.layer] += allocations;
    };
    for (SummedRow const& row : f.sums) add(row, row.allocations, row.requested_bytes);
    for (Block const& b : history_.blocks)
      if (b.holds_tensors && trace::on_device(b.block_class)) add(row_of(b), ~std::uint64_t{0}, 0 - b.size_bytes);
    s_.totals.frees = s_.totals.allocations - std::min(s_.totals.allocations, peak_.alive());
  }

  // In which of the earlier steps the peak of the run was, if it was in one.
  void name_folded_peak() {
    if (s_.peak_live_bytes <= s_.peak.live_bytes) return;
    for (EarlierSteps const& row : history_.folded->earlier)
      if (row.peak_live_bytes >= s_.peak_live_bytes) s_.folded->peak_step = row.first;
  }

  static Instant instant_of(const Account& a) { return {.at = a.at, .retags = a.retags, .time_ns = a.time_ns}; }
  Anatomy dissect_at(Instant instant) const {
    return dissect(history_, selection_, baselines_, instant, question_.largest_blocks);
  }

  void dissect_peak() {
    Account const& peak = peak_.peak();
    s_.peak = dissect_at(instant_of(peak));
    s_.peak.reserved_bytes = peak.reserved_bytes;
  }

  Result<void> dissect_other() {
    if (question_.at_step) {
      const StepPeaks::Step* found = nullptr;
      for (std::size_t i = first_whole_step(history_); i < history_.steps.size(); ++i)
        if (history_.steps[i].step == *question_.at_step) found = &steps_.steps()[i];
      if (found == nullptr)
        return Error{Errc::InvalidArgument, s_.source.path + ": no step " + std::to_string(*question_.at_step),
                     steps_in_words(history_)};
      s_.at = dissect_at(instant_of(found->peak));
      s_.at_step = question_.at_step;
    } else if (question_.at_ns) {
      // The earliest that there is.
      std::uint64_t const at_ns = std::max(*question_.at_ns, history_.folded ? history_.folded->begin_ns : 0);
      auto const later = [this](std::uint64_t ns, Change c) { return ns < history_.time_of(c); };
      auto const end = std::upper_bound(history_.changes.begin(), history_.changes.end(), at_ns, later);
      s_.at = dissect_at({.at = static_cast<std::uint64_t>(end - history_.changes.begin()), .time_ns = at_ns});
    }
    return {};
  }

  void stacks() {
    if (history_.stacks.size() < 2) return;
    trace::Symbols symbols(trace_.names());
    name_stacks(trace_, symbols, s_.peak, question_.named_stacks);
    if (s_.at) name_stacks(trace_, symbols, *s_.at, question_.named_stacks);
    std::map<std::uint32_t, std::vector<std::string>> named;
    auto const name = [&](std::uint32_t stack) {
      if (stack == 0 || named.size() >= question_.named_failures || named.contains(stack)) return;
      named[stack] = frames_of(trace_, symbols, stack);
    };
    if (const FailureRow* const shown = last_explained(s_)) name(shown->stack);
    for (FailureRow const& f : s_.failures) name(f.stack);
    for (FailureRow& f : s_.failures)
      if (auto const found = named.find(f.stack); found != named.end()) f.frames = found->second;
  }

  void layer_rows() {
    auto const& layers = layers_.layers();
    std::vector<std::uint32_t> order(layers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return layers[a].peak_live > layers[b].peak_live; });
    for (std::uint32_t const i : order) {
      std::uint64_t const allocations = layer_allocations_.empty() ? layers[i].allocations : layer_allocations_[i];
      if (allocations != 0)
        s_.layers.push_back({.name = history_.layers[i],
                             .peak_live_bytes = layers[i].peak_live,
                             .peak_activation_bytes = layers[i].peak_activation,
                             .allocations = allocations});
    }
    if (question_.layer_timelines) layer_timelines(order);
  }

  void layer_timelines(std::vector<std::uint32_t> order) {
    auto const& layers = layers_.layers();
    std::erase_if(order, [&](std::uint32_t i) { return layers[i].peak_activation == 0; });
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return layers[a].peak_activation > layers[b].peak_activation;
    });
    order.resize(std::min(order.size(), kMostLayerTimelines));
    LayerTimelines timelines(shares(), order, layers.size());
    Observer* const observers[] = {&timelines};
    static_cast<void>(walk(history_, selection_, baselines_, kEnd, observers));
    std::vector<Points> lines = timelines.finish();
    for (std::size_t i = 0; i < order.size(); ++i)
      for (LayerRow& row : s_.layers)
        if (row.name == history_.layers[order[i]]) row.activation_timeline = std::move(lines[i]);
  }

  void step_rows() {
    std::size_t begin = first_whole_step(history_);
    // Of blocks that are selected by what they are, a step's figures do not tell.
    if (history_.folded && !question_.filter.any()) {
      for (EarlierSteps const& e : history_.folded->earlier)
        s_.steps.push_back({.step = e.first,
                            .last_step = e.last,
                            .begin_ns = e.begin_ns,
                            .end_ns = e.end_ns,
                            .peak_live_bytes = e.peak_live_bytes,
                            .end_live_bytes = e.end_live_bytes,
                            .allocations = e.allocations});
      // The one that ran when the events begin is among them.
      if (begin < history_.steps.size() && began_before(history_.steps[begin].step)) ++begin;
      s_.folded->steps_until = s_.steps.size();
    }
    for (std::size_t i = begin; i < history_.steps.size(); ++i) {
      StepPeaks::Step const& step = steps_.steps()[i];
      s_.steps.push_back({.step = history_.steps[i].step,
                          .last_step = history_.steps[i].step,
                          .begin_ns = history_.steps[i].time_ns,
                          .end_ns = i + 1 < history_.steps.size() ? history_.steps[i + 1].time_ns : history_.end_ns,
                          .peak_live_bytes = step.peak.live_bytes,
                          .end_live_bytes = step.end_live,
                          .allocations = step.allocations});
    }
  }

  bool began_before(std::uint64_t step) const {
    auto const& rows = history_.folded->earlier;
    return std::any_of(rows.begin(), rows.end(),
                       [&](const EarlierSteps& r) { return r.first <= step && step <= r.last; });
  }

  void failure_rows() {
    for (FailedAllocation const& f : history_.failures) {
      FailureRow row{.time_ns = f.time_ns,
                     .requested_bytes = f.size_bytes,
                     .free_bytes = f.free_bytes,
                     .device = f.device,
                     .error = f.error,
                     .layer = history_.layers[f.layer],
                     .phase = std::string(trace::name(f.phase)),
                     .block_class = std::string(trace::name(f.block_class)),
                     .post_mortem = f.post_mortem,
                     .stack = history_.stacks[f.stack]};
      if (f.step != kNoStep) row.step = history_.steps[f.step].step;
      if (selection_.on_device(f.device)) s_.failures.push_back(std::move(row));
    }
  }

  // Each block that was only observed is a call to the driver. What a cache asks for shows in the driver's figure,
  // which is written once for each block that changed it, however many pieces that took (the fact cache.driver_calls).
  void count_driver_calls() {
    Totals& t = s_.totals;
    t.driver_allocations = t.driver_frees = 0;
    std::uint64_t alive = 0;
    for (Block const& b : history_.blocks) {
      if (!b.observed || !trace::on_device(b.block_class) || !selection_.on_device(b.device)) continue;
      ++t.driver_allocations;
      if (b.died_ns != kNever) ++t.driver_frees;
      alive += b.died_ns == kNever;
    }
    if (history_.folded) {
      t.driver_allocations = 0;
      for (SummedRow const& row : history_.folded->sums)
        if (row.observed && trace::on_device(row.block_class) && selection_.on_device(row.device))
          t.driver_allocations += row.allocations;
      t.driver_frees = t.driver_allocations - std::min(t.driver_allocations, alive);
    }
    if (s_.source.mode != "cache") return;
    std::uint64_t more = 0, less = 0;
    Baselines used = baselines_;
    for (DeviceSample const& s : history_.samples) {
      if (s.source != trace::DeviceUse::Driver || !selection_.on_device(s.device)) continue;
      more += s.used_bytes > used[s.device].value_or(0);
      less += s.used_bytes < used[s.device].value_or(0);
      used[s.device] = s.used_bytes;
    }
    t.driver_allocations = std::max(t.driver_allocations, more);
    t.driver_frees = std::max(t.driver_frees, less);
  }

  // Bytes of the selected devices together; nothing where none is known.
  std::optional<std::uint64_t> sum(const Baselines& bytes) const {
    std::optional<std::uint64_t> all;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] && selection_.on_device(static_cast<std::uint8_t>(i))) all = all.value_or(0) + *bytes[i];
    return all;
  }

  void ledger() {
    Ledger& l = s_.ledger;
    l.live_bytes = s_.peak.live_bytes;
    l.cached_bytes = s_.peak.reserved_bytes - s_.peak.live_bytes;
    l.context_bytes = sum(contexts_);
    auto const before = sum(baselines_);
    if (l.context_bytes && before && *before >= *l.context_bytes) l.other_processes_bytes = *before - *l.context_bytes;
    if (peak_.peak().device_used_bytes != 0) l.device_used_bytes = peak_.peak().device_used_bytes;
    if (l.device_used_bytes && l.context_bytes && l.other_processes_bytes)
      l.residual_bytes = static_cast<std::int64_t>(*l.device_used_bytes - *l.context_bytes - *l.other_processes_bytes -
                                                   l.live_bytes - l.cached_bytes);
  }

  static std::string in_words(const Filter& f) {
    std::string words;
    auto const add = [&](const char* what, const std::string& value) {
      words += (words.empty() ? "" : ", ") + std::string(what) + " " + value;
    };
    if (!f.layer.empty()) add("layer", f.layer);
    if (f.kind) add("kind", std::string(trace::name(*f.kind)));
    if (f.phase) add("phase", std::string(trace::name(*f.phase)));
    if (f.step) add("allocated in step", std::to_string(*f.step));
    if (f.device) add("device", std::to_string(*f.device));
    return words;
  }

  const Question& question_;
  const trace::Trace& trace_;
  History history_;
  Selection selection_;
  Baselines baselines_, contexts_;
  PeakFinder peak_;
  LayerPeaks layers_;
  StepPeaks steps_;
  std::vector<std::uint64_t> layer_allocations_;  // of the whole run, where events were folded
  Summary s_;
};

}  // namespace

Result<Summary> summarize(const trace::Trace& trace, const Question& question) {
  return Answer(trace, question).give();
}

}  // namespace tidemark::analysis
