// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/schedule.h"

#include <cmath>

#include "samples/trainer/op.h"

namespace tidemark::trainer {
namespace {

using Way = Pass::Way;

std::uint32_t number(std::size_t node) {
  return static_cast<std::uint32_t>(node);
}

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

std::vector<std::size_t> makers_of(const Graph& graph) {
  std::vector<std::size_t> makers(graph.values.size(), kNobody);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) makers[graph.nodes[n].output] = n;
  return makers;
}

bool has_kept_extras(const Graph& graph, const Node& node) {
  const Rules& rules = rules_of(node);
  if (rules.extras == nullptr) return false;
  for (const Extra& extra : rules.extras({.graph = graph, .node = node, .samples = 1}))
    if (extra.kept) return true;
  return false;
}

// Emits the backward passes of a range, and before each what it needs again.
class Rematerializer {
 public:
  Rematerializer(Schedule& schedule, const Graph& graph, NodeRange range)
      : schedule_(schedule), graph_(graph), range_(range), makers_(makers_of(graph)), cheap_(cheap_nodes(graph)) {
    made_for_.assign(graph.nodes.size(), kNobody);
  }

  void backward(std::size_t n) {
    const Node& node = graph_.nodes[n];
    const Rules& rules = rules_of(node);
    // The deviations of a norm are a few numbers: they stay.
    bool const is_norm = node.op == Op::BatchNorm || node.op == Op::GroupNorm || node.op == Op::LayerNorm;
    if (rules.keeps_output || (has_kept_extras(graph_, node) && !is_norm)) need(node.output, node.unit);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (rules.keeps_input[i]) need(node.inputs[i], node.unit);
    schedule_.push_back({.way = Way::Backward, .node = number(n)});
  }

 private:
  void need(ValueId value, std::size_t unit) {
    std::size_t const maker = makers_[value];
    if (maker == kNobody || maker < range_.first || maker >= range_.last || !cheap_[maker]) return;
    if (made_for_[maker] == unit) return;
    for (ValueId const input : graph_.nodes[maker].inputs) need(input, unit);
    schedule_.push_back({.way = Way::Forward, .node = number(maker)});
    made_for_[maker] = unit;
  }

  Schedule& schedule_;
  const Graph& graph_;
  NodeRange range_;
  std::vector<std::size_t> makers_;
  std::vector<bool> cheap_;
  std::vector<std::size_t> made_for_;  // the row for which the node has run again
};

}  // namespace

// Norms, GELU and attention keep their input for themselves: their output costs nothing but time. The others keep no
// input; theirs must be kept by somebody else, or be cheap itself. Sums of a residual network are not: each would ask
// for the one before it, back to the first.
std::vector<bool> cheap_nodes(const Graph& graph) {
  std::vector<std::size_t> const makers = makers_of(graph);
  std::vector<bool> kept(graph.values.size());
  for (const Node& node : graph.nodes) {
    const Rules& rules = rules_of(node);
    if (rules.keeps_output) kept[node.output] = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (rules.keeps_input[i]) kept[node.inputs[i]] = true;
  }
  std::vector<bool> cheap(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    bool inputs_are_there = true;
    for (ValueId const v : node.inputs) {
      bool const is_cheap = makers[v] != kNobody && cheap[makers[v]];
      inputs_are_there &= is_cheap || kept[v];
    }
    switch (node.op) {
      case Op::Gelu:
      case Op::BatchNorm:
      case Op::GroupNorm:
      case Op::LayerNorm:
      case Op::Attention: cheap[n] = true; break;
      case Op::Relu:
      case Op::Sigmoid:
      case Op::Tanh:
      case Op::Dropout:
      case Op::MaxPool:
      case Op::Upsample:
      case Op::Concat: cheap[n] = inputs_are_there; break;
      default: break;
    }
  }
  return cheap;
}

void append_forward(Schedule& schedule, NodeRange range) {
  for (std::size_t n = range.first; n < range.last; ++n) schedule.push_back({.node = number(n)});
}

void append_backward(Schedule& schedule, const Graph& graph, NodeRange range, bool selective) {
  if (!selective) {
    for (std::size_t n = range.last; n-- > range.first;) schedule.push_back({.way = Way::Backward, .node = number(n)});
    return;
  }
  Rematerializer again(schedule, graph, range);
  for (std::size_t n = range.last; n-- > range.first;) again.backward(n);
}

Schedule segmented_schedule(const Graph& graph, const std::vector<NodeRange>& segments, bool selective) {
  Schedule schedule;
  append_forward(schedule, {0, graph.nodes.size()});
  for (std::size_t s = segments.size(); s-- > 0;) {
    if (s + 1 < segments.size()) append_forward(schedule, segments[s]);
    append_backward(schedule, graph, segments[s], selective);
  }
  return schedule;
}

Schedule evaluation_schedule(const Graph& graph, bool keep) {
  Schedule schedule;
  append_forward(schedule, {0, graph.nodes.size()});
  if (keep)
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) schedule.push_back({.way = Way::Drop, .node = number(n)});
  return schedule;
}

std::vector<NodeRange> sqrt_segments(const Graph& graph) {
  auto const k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(graph.units))));
  std::size_t const per_segment = (graph.units + k - 1) / k;
  std::vector<NodeRange> segments;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (n == 0 || graph.nodes[n].unit / per_segment != graph.nodes[n - 1].unit / per_segment)
      segments.push_back({n, n});
    segments.back().last = n + 1;
  }
  return segments;
}

// From the first pass on: who made what. Then from the last one: who is still wanted.
Readings read_schedule(const Graph& graph, const Schedule& schedule) {
  std::vector<std::size_t> const makers = makers_of(graph);
  std::vector<std::int32_t> latest(graph.nodes.size(), kDrawn);
  Readings readings;
  readings.passes.resize(schedule.size());
  readings.drawn_readers.assign(graph.values.size(), 0);
  for (std::size_t k = 0; k < schedule.size(); ++k) {
    Reading& reading = readings.passes[k];
    const Node& node = graph.nodes[schedule[k].node];
    const Rules& rules = rules_of(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      std::size_t const maker = makers[node.inputs[i]];
      reading.from[i] = maker == kNobody ? kDrawn : latest[maker];
      reading.reads[i] = schedule[k].way == Way::Forward || rules.keeps_input[i];
    }
    if (schedule[k].way == Way::Forward) {
      reading.first = latest[schedule[k].node] == kDrawn;
      latest[schedule[k].node] = static_cast<std::int32_t>(k);
      continue;
    }
    reading.own = latest[schedule[k].node];
    reading.reads_output = rules.keeps_output;
    reading.reads_extras = has_kept_extras(graph, node);
  }
  for (std::size_t k = schedule.size(); k-- > 0;) {
    Reading& reading = readings.passes[k];
    const Node& node = graph.nodes[schedule[k].node];
    if (schedule[k].way == Way::Forward)
      reading.runs = reading.first || reading.output_readers > 0 || reading.extras_readers > 0;
    if (!reading.runs) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reading.reads[i]) continue;
      if (reading.from[i] == kDrawn)
        ++readings.drawn_readers[node.inputs[i]];
      else
        ++readings.passes[static_cast<std::size_t>(reading.from[i])].output_readers;
    }
    if (reading.own == kDrawn) continue;
    Reading& own = readings.passes[static_cast<std::size_t>(reading.own)];
    own.output_readers += reading.reads_output;
    own.extras_readers += reading.reads_extras;
  }
  return readings;
}

}  // namespace tidemark::trainer
