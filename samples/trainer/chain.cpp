// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/chain.h"

#include <algorithm>

#include "base/bytes.h"

namespace tidemark::trainer {
namespace {

constexpr std::uint64_t kRounding = 512;
constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

// Gradients of parameters that stay from stage to stage: not those that are fixed, are there from a part before, or go
// at once.
bool gradients_grow(const Choices& choices) {
  return !choices.zero_gradients && !choices.step_in_backward && choices.accumulate == 1;
}

}  // namespace

// ---- stages
// ----------------------------------------------------------------------------------------------------------

std::vector<NodeRange> stages_of(const Graph& graph, std::size_t at_most) {
  std::size_t const nodes = graph.nodes.size();
  std::vector<std::size_t> last_reader(graph.values.size(), 0);
  for (std::size_t n = 0; n < nodes; ++n)
    for (ValueId const v : graph.nodes[n].inputs) last_reader[v] = n;
  std::vector<NodeRange> stages;
  std::vector<std::size_t> size;  // elements made
  for (std::size_t n = 0; n < nodes; ++n) {
    std::size_t crossing = 0;
    for (std::size_t k = 0; k < n; ++k) crossing += last_reader[graph.nodes[k].output] >= n;
    if (n == 0 || crossing == 1 || graph.nodes[n].unit != graph.nodes[n - 1].unit) {
      stages.push_back({n, n});
      size.push_back(0);
    }
    stages.back().last = n + 1;
    size.back() += graph.values[graph.nodes[n].output].shape.elements();
  }
  while (stages.size() > std::max<std::size_t>(at_most, 1)) {
    std::size_t best = 0;
    for (std::size_t s = 1; s + 1 < stages.size(); ++s)
      if (size[s] + size[s + 1] < size[best] + size[best + 1]) best = s;
    auto const at = static_cast<std::ptrdiff_t>(best);
    stages[best].last = stages[best + 1].last;
    size[best] += size[best + 1];
    stages.erase(stages.begin() + at + 1);
    size.erase(size.begin() + at + 1);
  }
  return stages;
}

// ---- a stage rehearsed
// -----------------------------------------------------------------------------------------------

// A stage's passes gone through alone, with all that comes from outside held by somebody else.
class GraphChain::Rehearsal {
 public:
  Rehearsal(const GraphChain& chain, std::size_t stage, bool selective)
      : chain_(chain), graph_(chain.graph_), stage_(stage) {
    NodeRange const range = chain.stages_[stage];
    append_forward(schedule_, range);
    turn_ = schedule_.size();
    append_backward(schedule_, graph_, range, selective);
    readings_ = read_schedule(graph_, schedule_);
    gradient_.assign(graph_.values.size(), kOutside);
  }

  Taping play() {
    Taping taping{.kept = std::vector<bool>(graph_.values.size())};
    for (std::size_t k = 0; k < turn_; ++k) forward(k);
    taping.forward_bytes = peak_;
    for (std::size_t k = 0; k < turn_; ++k) leave_behind(k, taping);
    peak_ = live_ = taping.kept_bytes;
    for (ValueId v = 0; v < graph_.values.size(); ++v)
      if (graph_.values[v].has_gradient && waits_for_gradient(v)) gradient_[v] = hold_gradient(chain_.bytes_of(v));
    for (std::size_t k = turn_; k < schedule_.size(); ++k) {
      if (!readings_.passes[k].runs) continue;
      if (schedule_[k].way == Pass::Way::Forward)
        forward(k);
      else
        backward(k);
    }
    taping.backward_bytes = peak_;
    taping.work = work_;
    return taping;
  }

 private:
  Sizing sizing(const Node& node) const {
    return {.graph = graph_,
            .node = node,
            .samples = chain_.samples_,
            .type = chain_.choices_.type,
            .chunk = chain_.choices_.chunk};
  }
  // Made in this stage or before it, read behind it.
  bool waits_for_gradient(ValueId v) const {
    std::size_t const made = chain_.made_in_[v];
    return made != kOutside && made <= stage_ && !chain_.read_in_[v].empty() && chain_.read_in_[v].back() > stage_;
  }
  bool is_read_later(ValueId v) const { return !chain_.read_in_[v].empty() && chain_.read_in_[v].back() > stage_; }
  std::uint64_t extras(const Node& node, bool kept) const {
    const Rules& rules = rules_of(node);
    std::uint64_t sum = 0;
    if (rules.extras == nullptr) return 0;
    for (const Extra& extra : rules.extras(sizing(node)))
      if (extra.kept == kept) sum += round_up(extra.size_bytes, kRounding);
    return sum;
  }
  void note(std::uint64_t more) { peak_ = std::max(peak_, live_ + more); }

  void forward(std::size_t k) {
    Reading& reading = readings_.passes[k];
    const Node& node = graph_.nodes[schedule_[k].node];
    const Rules& rules = rules_of(node);
    std::uint64_t const out = chain_.bytes_of(node.output), kept = extras(node, true);
    std::uint64_t const space = rules.forward_workspace == nullptr ? 0 : rules.forward_workspace(sizing(node));
    note(out + kept + extras(node, false) + round_up(space, kRounding));
    work_ += forward_flops(sizing(node));
    if (reading.output_readers > 0 || (k < turn_ && is_read_later(node.output))) live_ += out;
    if (reading.extras_readers > 0) live_ += kept;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) read(reading, i);
  }
  void read(const Reading& reading, std::size_t i) {
    if (reading.from[i] == kDrawn) return;
    auto const from = static_cast<std::size_t>(reading.from[i]);
    ValueId const v = graph_.nodes[schedule_[from].node].output;
    if (--readings_.passes[from].output_readers == 0 && !(from < turn_ && is_read_later(v) && !turned_))
      live_ -= chain_.bytes_of(v);
  }
  // At the turn: what the stage's own backward pass will read stays, whatever later stages have read is theirs.
  void leave_behind(std::size_t k, Taping& taping) {
    turned_ = true;
    const Node& node = graph_.nodes[schedule_[k].node];
    if (readings_.passes[k].extras_readers > 0) taping.kept_bytes += extras(node, true);
    if (readings_.passes[k].output_readers == 0) return;
    taping.kept[node.output] = true;
    taping.kept_bytes += chain_.bytes_of(node.output);
  }

  struct GradientBuffer {
    std::uint64_t bytes = 0;
    std::size_t references = 0;
  };
  std::size_t hold_gradient(std::uint64_t bytes) {
    buffers_.push_back({bytes, 1});
    live_ += bytes;
    note(0);
    return buffers_.size() - 1;
  }
  void release_gradient(std::size_t buffer) {
    if (buffer != kOutside && --buffers_[buffer].references == 0) live_ -= buffers_[buffer].bytes;
  }
  void contribute(ValueId v, std::size_t buffer) {
    if (gradient_[v] == kOutside) {
      gradient_[v] = buffer;
      return;
    }
    bool const in_place = buffers_[buffer].references == 1 || buffers_[gradient_[v]].references == 1;
    std::size_t const sum = buffers_[buffer].references == 1 ? buffer
                            : in_place                       ? gradient_[v]
                                                             : hold_gradient(buffers_[buffer].bytes);
    if (in_place) ++buffers_[sum].references;
    release_gradient(buffer);
    release_gradient(gradient_[v]);
    gradient_[v] = sum;
  }

  void backward(std::size_t k) {
    Reading& reading = readings_.passes[k];
    const Node& node = graph_.nodes[schedule_[k].node];
    const Rules& rules = rules_of(node);
    std::size_t const dout = gradient_[node.output];
    if (rules.passes_gradient) {
      for (ValueId const v : node.inputs)
        if (graph_.values[v].has_gradient && dout != kOutside) {
          ++buffers_[dout].references;
          contribute(v, dout);
        }
      return release_gradient(dout);
    }
    std::vector<std::pair<ValueId, std::size_t>> made;
    for (ValueId const v : node.inputs)
      if (graph_.values[v].has_gradient) made.emplace_back(v, hold_gradient(chain_.bytes_of(v)));
    std::uint64_t parameters = 0;
    for (ParameterId const p : node.parameters) parameters += round_up(graph_.parameters[p].elements * 4, kRounding);
    std::uint64_t const space = rules.backward_workspace == nullptr ? 0 : rules.backward_workspace(sizing(node));
    note(parameters + round_up(space, kRounding));
    if (gradients_grow(chain_.choices_)) live_ += parameters;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (reading.reads[i]) read(reading, i);
    if (reading.own != kDrawn) {
      Reading& own = readings_.passes[static_cast<std::size_t>(reading.own)];
      if (reading.reads_output && --own.output_readers == 0) live_ -= chain_.bytes_of(node.output);
      if (reading.reads_extras && --own.extras_readers == 0) live_ -= extras(node, true);
    }
    release_gradient(dout);
    for (auto const& [v, buffer] : made) contribute(v, buffer);
  }

  const GraphChain& chain_;
  const Graph& graph_;
  std::size_t stage_, turn_ = 0;
  bool turned_ = false;
  Schedule schedule_;
  Readings readings_;
  std::uint64_t live_ = 0, peak_ = 0, work_ = 0;
  std::vector<std::size_t> gradient_;  // by value
  std::vector<GradientBuffer> buffers_;
};

// ---- the chain
// -------------------------------------------------------------------------------------------------------

GraphChain::GraphChain(const Graph& graph, const Choices& choices, std::vector<NodeRange> stages)
    : graph_(graph), choices_(choices), samples_(choices.batch / choices.accumulate), stages_(std::move(stages)) {
  find_readers();
  find_crossings();
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    StageCosts costs;
    for (std::size_t taping = 0; taping < tapings(); ++taping)
      costs.taping.push_back(Rehearsal(*this, s, taping == 1).play());
    for (std::size_t n = stages_[s].first; n < stages_[s].last; ++n)
      costs.run_work += forward_flops({.graph = graph_, .node = graph_.nodes[n], .samples = samples_});
    // A run keeps no more than a taping does meanwhile; in a stage of few nodes the two are the same.
    costs.run_bytes = costs.taping.back().forward_bytes;
    costs_.push_back(std::move(costs));
  }
}

std::uint64_t GraphChain::bytes_of(ValueId value) const {
  return round_up(graph_.values[value].bytes(samples_, choices_.type), kRounding);
}

void GraphChain::find_readers() {
  made_in_.assign(graph_.values.size(), kOutside);
  read_in_.resize(graph_.values.size());
  for (std::size_t s = 0; s < stages_.size(); ++s)
    for (std::size_t n = stages_[s].first; n < stages_[s].last; ++n) {
      made_in_[graph_.nodes[n].output] = s;
      for (ValueId const v : graph_.nodes[n].inputs)
        if (read_in_[v].empty() || read_in_[v].back() != s) read_in_[v].push_back(s);
    }
}

void GraphChain::find_crossings() {
  std::size_t const n = stages_.size();
  crossings_.assign(n * n * n, 0);
  value_gradients_.assign(n, 0);
  parameter_gradients_.assign(n, 0);
  for (ValueId v = 0; v < graph_.values.size(); ++v) {
    std::size_t const made = made_in_[v];
    if (made == kOutside || read_in_[v].empty()) continue;
    std::size_t const last = read_in_[v].back();
    for (std::size_t j = made + 1; j <= last; ++j) {
      std::size_t const next = *std::lower_bound(read_in_[v].begin(), read_in_[v].end(), j);
      for (std::size_t t = next; t < n; ++t)
        for (std::size_t s = 0; s <= made; ++s) crossings_[(j * n + t) * n + s] += bytes_of(v);
    }
    if (graph_.values[v].has_gradient)
      for (std::size_t t = made; t < last; ++t) value_gradients_[t] += bytes_of(v);
  }
  if (!gradients_grow(choices_)) return;
  std::vector<std::size_t> last_use(graph_.parameters.size(), 0);
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t k = stages_[s].first; k < stages_[s].last; ++k)
      for (ParameterId const p : graph_.nodes[k].parameters) last_use[p] = s;
  for (ParameterId p = 0; p < last_use.size(); ++p)
    for (std::size_t t = 0; t < last_use[p]; ++t)
      parameter_gradients_[t] += round_up(graph_.parameters[p].elements * 4, kRounding);
}

std::uint64_t GraphChain::crossing(std::size_t s, std::size_t j, std::size_t t) const {
  return crossings_[(j * stages_.size() + t) * stages_.size() + s];
}

void GraphChain::set_slots(std::size_t slots) {
  slot_bytes_ = 1;
  std::size_t const last = stages_.size() - 1;
  std::uint64_t held = 0, all = 0;
  for (std::size_t s = 0; s <= last; ++s) {
    all = std::max<std::uint64_t>(all, held + needed_to_tape(s, last, 0));
    held += held_by_tape(s, last, 0);
  }
  slot_bytes_ = std::max<std::uint64_t>(1, (std::max(all, held) + slots - 1) / slots);
}

// What is held is rounded to the nearest slot, not up: sums over many stages stay near, and whoever takes a schedule
// looks at the plan's own peak.
std::size_t GraphChain::held_by_run(std::size_t s, std::size_t j, std::size_t t) const {
  return (crossing(s, j, t) + slot_bytes_ / 2) / slot_bytes_;
}

std::size_t GraphChain::held_by_tape(std::size_t s, std::size_t t, std::size_t taping) const {
  const Taping& one = costs_[s].taping[taping];
  std::uint64_t bytes = one.kept_bytes;
  for (std::size_t n = stages_[s].first; n < stages_[s].last; ++n) {
    ValueId const v = graph_.nodes[n].output;
    auto const next = std::upper_bound(read_in_[v].begin(), read_in_[v].end(), s);
    if (!one.kept[v] && next != read_in_[v].end() && *next <= t) bytes += bytes_of(v);
  }
  return (bytes + slot_bytes_ / 2) / slot_bytes_;
}

std::size_t GraphChain::needed_to_run(std::size_t s, std::size_t j, std::size_t t) const {
  std::uint64_t most = 0;
  for (std::size_t i = s; i < j; ++i) most = std::max(most, (i == s ? 0 : crossing(s, i, t)) + costs_[i].run_bytes);
  return (most + value_gradients_[t] + parameter_gradients_[t] + slot_bytes_ - 1) / slot_bytes_;
}

std::size_t GraphChain::needed_to_tape(std::size_t s, std::size_t t, std::size_t taping) const {
  const Taping& one = costs_[s].taping[taping];
  std::uint64_t const forward = one.forward_bytes + value_gradients_[t] + parameter_gradients_[t];
  std::uint64_t const backward = one.backward_bytes + parameter_gradients_[s];
  return (std::max(forward, backward) + slot_bytes_ - 1) / slot_bytes_;
}

Schedule GraphChain::schedule(const std::vector<Move>& moves) const {
  Schedule schedule;
  for (const Move& move : moves) {
    if (move.what == Move::What::Backward)
      append_backward(schedule, graph_, stages_[move.stage], move.taping == 1);
    else
      append_forward(schedule, stages_[move.stage]);
  }
  return schedule;
}

}  // namespace tidemark::trainer
