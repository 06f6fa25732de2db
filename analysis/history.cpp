// SPDX-License-Identifier: Apache-2.0
#include "analysis/history.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/read_folded.h"
#include "analysis/tensors.h"

namespace tidemark::analysis {
namespace {

using trace::Event;

constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

// Numbers of the trace to numbers of ours, which are dense and the same for the same text.
class Dense {
 public:
  explicit Dense(std::vector<std::string>& texts) : texts_(texts) {
    for (std::uint32_t i = 0; i < texts.size(); ++i) by_text_.emplace(texts[i], i);
  }
  template <class Text>
  std::uint32_t operator()(std::uint32_t id, Text text) {
    if (id == 0) return 0;
    auto const [known, fresh] = by_id_.try_emplace(id, 0);
    if (!fresh) return known->second;
    std::string const& words = text(id);
    if (words.empty()) return 0;
    auto const [found, unseen] = by_text_.try_emplace(words, static_cast<std::uint32_t>(texts_.size()));
    if (unseen) texts_.push_back(words);
    return known->second = found->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_id_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

// Kinds of a later version are none that could be told apart here.
trace::Kind known(trace::Kind kind) {
  return static_cast<std::size_t>(kind) < trace::kKindNames.size() ? kind : trace::Kind::Other;
}

class Builder {
 public:
  explicit Builder(const trace::Trace& trace) : trace_(trace), layer_ids_(h_.layers), name_ids_(h_.names) {}

  History build() {
    trace::Ordered ordered(trace_);
    for (trace::OrderedEvent e; ordered.next(e);) {
      if (base_ != nullptr && !h_.folded && e.event.ticks >= base_->begin_ticks) begin_window();
      apply(e);
    }
    if (base_ != nullptr && !h_.folded) begin_window();
    h_.oddities = ordered.oddities();
    auto const& clock = trace_.header().latest;
    h_.end_ns = std::max(now_, trace_.nanoseconds(clock.ticks));
    if (h_.folded) fold();
    return std::move(h_);
  }

 private:
  void apply(const trace::OrderedEvent& e) {
    now_ = trace_.nanoseconds(e.event.ticks);
    switch (e.event.type) {
      case Event::Type::Alloc:
      case Event::Type::Live: on_alloc(e); break;
      case Event::Type::Free: on_free(e); break;
      case Event::Type::Label: on_label(e); break;
      case Event::Type::Step: on_step(e.event); break;
      case Event::Type::DeviceUse: on_device_use(e.event); break;
      case Event::Type::Failure: on_failure(e.event); break;
      case Event::Type::CacheUse: on_cache_use(e.event); break;
      case Event::Type::CacheCounts: on_cache_counts(e.event); break;
      case Event::Type::Pin: on_pin(e.event); break;
      case Event::Type::LateFree: on_late_free(e.event); break;
      case Event::Type::Kernel: break;  // no memory changes hands
      case Event::Type::Scope:
      case Event::Type::Phase: break;  // in the context of what follows them
    }
  }

  std::uint64_t at() const { return h_.changes.size(); }
  std::uint32_t layer(std::uint32_t scope) {
    return layer_ids_(
        scope, [this](std::uint32_t id) -> auto& { return trace_.names().path(id); });
  }
  std::uint32_t string(std::uint32_t name) {
    return name_ids_(
        name, [this](std::uint32_t id) -> auto& { return trace_.names().string(id); });
  }
  std::uint32_t stack(std::uint32_t id) {
    if (id == 0) return 0;
    auto const [known, fresh] = stack_ids_.try_emplace(id, 0);
    if (!fresh) return known->second;
    if (trace_.names().stack(id).empty()) return 0;
    known->second = static_cast<std::uint32_t>(h_.stacks.size());
    h_.stacks.push_back(id);
    return known->second;
  }
  std::uint32_t step() const { return h_.steps.empty() ? kNoStep : static_cast<std::uint32_t>(h_.steps.size() - 1); }

  // All that was alive is there; from now on things happen.
  void begin_window() {
    h_.folded.emplace();
    h_.folded->begin_ns = trace_.nanoseconds(base_->begin_ticks);
    h_.folded->whole_ns = trace_.nanoseconds(base_->end_ticks);
    h_.folded->changes = at();
    h_.folded->steps = h_.steps.size();
    if (base_->step != trace::kNoStep)
      h_.steps.push_back({.step = base_->step, .at = at(), .time_ns = h_.folded->begin_ns});
  }

  void fold() {
    std::set<std::uint64_t> began;
    for (std::size_t i = h_.folded->steps + (base_->step != trace::kNoStep); i < h_.steps.size(); ++i)
      began.insert(h_.steps[i].step);
    read_folded(
        trace_, began, [this](std::uint32_t path) { return layer(path); }, *h_.folded);
  }

  // Before a window steps are marked by what is left of them.
  std::uint32_t step_of(const Event& e) {
    if (e.type != Event::Type::Live) return step();
    if (e.context.stepped == 0) return kNoStep;
    if (h_.steps.empty() || h_.steps.back().step != e.context.step)
      h_.steps.push_back({.step = e.context.step, .at = at(), .time_ns = now_});
    return step();
  }

  void on_alloc(const trace::OrderedEvent& o) {
    Event const& e = o.event;
    if (o.block >= kMostBlocks) {
      ++h_.left_out;
      return;
    }
    std::uint64_t size_bytes = e.size_bytes;
    if (size_bytes > kLargestSum - sum_) {
      ++h_.implausible_sizes;
      size_bytes = 0;
    }
    sum_ += round_up(size_bytes, kLiveGranule);
    h_.blocks.push_back({.address = e.address,
                         .size_bytes = size_bytes,
                         .born_ns = now_,
                         .layer = layer(e.context.scope),
                         .stack = stack(e.context.stack),
                         .step = step_of(e),
                         .name = string(e.name),
                         .thread = e.context.thread,
                         .stream = e.context.stream,
                         .block_class = e.block_class,
                         .phase = static_cast<trace::Phase>(e.context.phase),
                         .kind = known(e.kind),
                         .kind_source = e.kind == trace::Kind::Other ? KindSource::None : KindSource::Given,
                         .device = e.context.device,
                         .observed = e.generation == 0});
    auto const block = static_cast<std::uint32_t>(o.block);
    h_.changes.push_back({.block = block, .freed = 0});
    if (e.block_class == trace::Class::Physical) physical_[e.address] = block;
    if (e.block_class == trace::Class::Mapping)
      if (auto const found = physical_.find(e.other); found != physical_.end()) h_.behind[block] = found->second;
  }

  void on_free(const trace::OrderedEvent& o) {
    if (o.block >= h_.blocks.size()) return;
    Block& b = h_.blocks[o.block];
    b.died_ns = now_;
    sum_ -= rounded_bytes(b);
    h_.changes.push_back({.block = static_cast<std::uint32_t>(o.block), .freed = 1});
  }

  void on_label(const trace::OrderedEvent& o) {
    if (o.block >= h_.blocks.size()) return;
    auto block = static_cast<std::uint32_t>(o.block);
    // What a program says of a mapping is about the memory behind it.
    if (auto const found = h_.behind.find(block); found != h_.behind.end()) block = found->second;
    Block& b = h_.blocks[block];
    if (b.died_ns != kNever) return;  // released, though still mapped: only a damaged trace says so
    if (std::uint32_t const name = string(o.event.name)) b.name = name;
    if (b.kind_source == KindSource::None) {
      b.kind = known(o.event.kind);
      b.kind_source = KindSource::Given;
    } else {
      b.retagged = true;
      h_.retags.push_back({.at = at(), .time_ns = now_, .block = block, .kind = known(o.event.kind)});
    }
  }

  // A step is for all threads. Threads that hear of it late, or count for themselves, do not begin it again; only the
  // thread that counts may go back.
  void on_step(const Event& e) {
    bool const known = !h_.steps.empty();
    if (known && e.context.step == h_.steps.back().step) return;
    if (known && e.context.step < h_.steps.back().step && e.context.thread != step_thread_) return;
    h_.steps.push_back({.step = e.context.step, .at = at(), .time_ns = now_});
    step_thread_ = e.context.thread;
  }

  void on_device_use(const Event& e) {
    h_.samples.push_back({.at = at(),
                          .time_ns = now_,
                          .used_bytes = std::min(e.size_bytes, kLargestSum / 256),
                          .total_bytes = e.other,
                          .process_bytes = std::min(e.address, kLargestSum / 256),
                          .device = e.context.device,
                          .source = e.source});
  }

  // What a damaged trace says must not overflow when it is added up.
  static std::uint64_t plausible(std::uint64_t bytes) { return std::min(bytes, kLargestSum / 256); }
  void on_cache_use(const Event& e) {
    last_sample_[{e.context.device, e.generation}] = h_.cache_samples.size();
    std::uint64_t const reserved = plausible(e.other), live = std::min(plausible(e.address), reserved);
    h_.cache_samples.push_back({.time_ns = now_,
                                .live_bytes = live,
                                .requested_bytes = std::min(e.size_bytes, live),
                                .reserved_bytes = reserved,
                                .largest_hole_bytes = std::min(e.start_ticks, reserved),
                                .device = e.context.device,
                                .cache = e.generation});
  }
  void on_cache_counts(const Event& e) {
    h_.cache_counts.push_back({.time_ns = now_,
                               .plan_hits = e.address,
                               .plan_misses = e.size_bytes,
                               .waits_avoided = e.other,
                               .given_back_bytes = e.start_ticks,
                               .device = e.context.device,
                               .cache = e.generation});
  }
  void on_pin(const Event& e) {
    // Of the cache's last sample; one without a sample says nothing.
    auto const sample = last_sample_.find({e.context.device, e.generation});
    if (sample == last_sample_.end()) return;
    h_.pins.push_back({.time_ns = now_,
                       .address = e.address,
                       .before_bytes = plausible(e.size_bytes),
                       .after_bytes = plausible(e.other),
                       .given_back_bytes = plausible(e.start_ticks),
                       .sample = sample->second,
                       .device = e.context.device,
                       .cache = e.generation});
  }
  void on_late_free(const Event& e) {
    h_.late_frees.push_back({.time_ns = now_,
                             .address = e.address,
                             .size_bytes = e.size_bytes,
                             .freed_stream = e.other,
                             .used_stream = e.start_ticks,
                             .freed_layer = layer(e.context.scope),
                             .used_layer = layer(e.name),
                             .step = step(),
                             .phase = static_cast<trace::Phase>(e.context.phase),
                             .device = e.context.device,
                             .by = e.source});
  }

  void on_failure(const Event& e) {
    h_.failures.push_back({.at = at(),
                           .time_ns = now_,
                           .size_bytes = e.size_bytes,
                           .free_bytes = e.other,
                           .layer = layer(e.context.scope),
                           .stack = stack(e.context.stack),
                           .step = step(),
                           .block_class = e.block_class,
                           .phase = static_cast<trace::Phase>(e.context.phase),
                           .device = e.context.device,
                           .error = e.error,
                           .post_mortem = trace_.names().string(e.name)});
  }

  const trace::Trace& trace_;
  const trace::Base* base_ = trace_.past().base();
  History h_;
  Dense layer_ids_, name_ids_;
  std::unordered_map<std::uint32_t, std::uint32_t> stack_ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> physical_;  // the latest block of a handle
  std::uint64_t sum_ = 0;                                      // of all that is alive, of every class
  std::uint64_t now_ = 0;
  std::uint32_t step_thread_ = 0;
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::size_t> last_sample_;  // by device and cache
};

}  // namespace

History read_history(const trace::Trace& trace) {
  History history = Builder(trace).build();
  find_holders(history);
  // Kinds that the program did not give are told from phase and lifetime here, once that is written (issue 7): it fills
  // `kind` of blocks whose source is None and sets the source to Inferred. Until then they are `other`.
  return history;
}

}  // namespace tidemark::analysis
