// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/trainer/reckoning.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace tidemark::trainer {
namespace {

std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 511) / 512 * 512;
}
std::uint64_t to_256(std::uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// The rules of an op, once more and in its own words.
struct Law {
  std::set<std::size_t> keeps;  // inputs, by place
  bool keeps_output = false, may_overwrite = false, passes_gradient = false;
  std::vector<std::uint64_t> kept_extras, passing_extras;
  std::uint64_t forward_space = 0, backward_space = 0;
};

std::uint64_t window_space(const Shape& in, const Shape& out, const Attributes& a, std::uint64_t samples,
                           std::uint64_t element) {
  if (a.size == 1 && a.stride == 1 && a.pad == 0) return 0;
  std::uint64_t const limit = 4 << 20, row = in.size[0] * a.size * a.size * out.size[2] * element;
  std::uint64_t const picture = row * out.size[1];
  if (picture <= limit) return std::min(limit / picture, samples) * picture;
  return std::max<std::uint64_t>(limit / row, 1) * row;
}

Law law_of(const Graph& graph, const Node& node, std::uint64_t n, const Choices& choices) {
  const Shape &in = graph.values[node.inputs[0]].shape, &out = graph.values[node.output].shape;
  std::uint64_t const element = choices.type == Type::F32 ? 4 : 2;
  std::uint64_t const moments = in.rank == 2 ? in.size[0] : 1;
  switch (node.op) {
    case Op::Linear: return {.keeps = {0}};
    case Op::Relu:
    case Op::Sigmoid:
    case Op::Tanh: return {.keeps_output = true, .may_overwrite = true};
    case Op::Gelu: return {.keeps = {0}};
    case Op::Add: return {.may_overwrite = true, .passes_gradient = true};
    case Op::Dropout: return {.may_overwrite = true, .kept_extras = {n * out.elements()}};
    case Op::CrossEntropy:
      return {.keeps = {1}, .kept_extras = {n * in.elements() * 4}, .passing_extras = {n * moments * 4}};
    case Op::MaskLoss: return {.keeps = {1}, .kept_extras = {n * in.elements() * 4, n * 8}, .passing_extras = {n * 4}};
    case Op::Projection: return {.passing_extras = {n * 4}};
    case Op::Convolution: {
      std::uint64_t const together = choices.chunk == 0 ? n : std::min<std::uint64_t>(choices.chunk, n);
      std::uint64_t const space = window_space(in, out, node.attributes, together, element);
      return {.keeps = {0}, .forward_space = space, .backward_space = space};
    }
    case Op::BatchNorm: return {.keeps = {0}, .kept_extras = {4 * in.channels(), 4 * in.channels()}};
    case Op::GroupNorm: {
      std::uint64_t const groups = n * (in.rank == 2 ? in.size[0] : 1) * node.attributes.groups;
      return {.keeps = {0}, .kept_extras = {4 * groups, 4 * groups}};
    }
    case Op::LayerNorm: return {.keeps = {0}, .kept_extras = {4 * n * moments, 4 * n * moments}};
    case Op::MaxPool: return {.kept_extras = {4 * n * out.elements()}};
    case Op::Embed: return {.keeps = {0}};
    case Op::Attention: {
      std::uint64_t const scores = n * node.attributes.heads * out.size[0] * out.size[0] * element;
      return {.keeps = {0}, .kept_extras = {scores}, .backward_space = scores};
    }
    case Op::Lstm: {
      std::uint64_t const width = n * moments * out.size[1] * element;
      return {.keeps = {0},
              .keeps_output = true,
              .kept_extras = {4 * width, width},
              .backward_space = to_256(4 * width) + 2 * n * out.size[1] * 4};
    }
    case Op::Gru: {
      std::uint64_t const width = n * moments * out.size[1] * element;
      return {.keeps = {0},
              .keeps_output = true,
              .kept_extras = {4 * width},
              .forward_space = n * 3 * out.size[1] * 4,
              .backward_space = to_256(4 * width) + n * out.size[1] * 4};
    }
    default: return {};
  }
}

// A buffer and the moments it is there in, both ends included.
struct Life {
  std::uint64_t bytes = 0;
  long first = 0, last = 0;
  bool may_leave = false;  // an activation or an input, and no variable
  std::set<long> readings = {};
};

class Reckoning {
 public:
  Reckoning(const Graph& graph, const Choices& choices)
      : g_(graph), c_(choices), n_(choices.batch / choices.accumulate) {
    for (const Node& node : g_.nodes) laws_.push_back(law_of(g_, node, n_, c_));
    cut();
  }

  std::uint64_t peak() {
    fixed();
    // Two steps, so that the second begins with what the first has left in the loop's variables.
    for (int step = 0; step < 2; ++step) {
      gradients_.assign(g_.parameters.size(), kNone);
      for (std::size_t part = 0; part < c_.accumulate; ++part) one_part();
      optimizer();
    }
    if (c_.offload) split_offloaded();
    std::map<long, std::int64_t> change;
    for (const Life& life : lives_) {
      change[life.first] += static_cast<std::int64_t>(rounded(life.bytes));
      change[life.last + 1] -= static_cast<std::int64_t>(rounded(life.bytes));
    }
    std::int64_t live = 0, peak = 0;
    for (auto const& [moment, bytes] : change) peak = std::max(peak, live += bytes);
    return static_cast<std::uint64_t>(peak) + fixed_;
  }

 private:
  std::uint64_t value_bytes(ValueId v) const { return g_.values[v].bytes(n_, c_.type); }
  std::size_t live(std::uint64_t bytes, long first, long last) {
    lives_.push_back({.bytes = bytes, .first = first, .last = last});
    return lives_.size() - 1;
  }
  void until(std::size_t life, long last) { lives_[life].last = std::max(lives_[life].last, last); }
  void read(std::size_t life, long moment) {
    until(life, moment);
    lives_[life].readings.insert(moment);
  }
  std::size_t leaving(std::size_t life) {
    lives_[life].may_leave = true;
    lives_[life].readings.insert(lives_[life].first);
    return life;
  }
  // Away between the two passes of its part, unless nothing happens meanwhile.
  void split_offloaded() {
    for (std::size_t k = 0, n = lives_.size(); k < n; ++k) {
      Life& life = lives_[k];
      if (!life.may_leave || life.bytes < 64 << 10) continue;
      auto const turn = std::upper_bound(turns_.begin(), turns_.end(), life.first);
      auto const backward = turn == turns_.end() ? life.readings.end() : life.readings.lower_bound(*turn);
      if (backward == life.readings.end() || backward == life.readings.begin()) continue;
      long const from = *backward, to = *std::prev(backward);
      if (from - to < 2) continue;
      Life const back{.bytes = life.bytes, .first = from, .last = life.last};
      life.last = to;
      lives_.push_back(back);
    }
  }

  void fixed() {
    std::uint64_t const states = c_.optimizer == Optimizer::Sgd ? 0 : c_.optimizer == Optimizer::Momentum ? 1 : 2;
    for (const Parameter& p : g_.parameters) {
      if (c_.optimizer == Optimizer::Adam8bit)  // a byte per element and a float per 256 of them
        fixed_ += 2 * rounded(p.elements + 4 * ((p.elements + 255) / 256)) - 2 * rounded(4 * p.elements);
      fixed_ += rounded(4 * p.elements) * (1 + states + (c_.zero_gradients ? 1 : 0));
      if (c_.type != Type::F32 && p.matrix) fixed_ += rounded(2 * p.elements);
    }
    for (const Statistic& s : g_.statistics) fixed_ += rounded(4 * s.elements);
    if (c_.check_finite) fixed_ += 512;
  }

  // Segments of the nodes: rows of the table in groups of ceil(N / round(sqrt N)).
  void cut() {
    segment_.assign(g_.nodes.size(), 0);
    if (c_.checkpoint == Checkpoint::None) return;
    double const rows = static_cast<double>(g_.units);
    auto const size = static_cast<std::size_t>(std::ceil(rows / std::round(std::sqrt(rows))));
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) segment_[i] = g_.nodes[i].unit / size;
  }
  std::size_t last_segment() const { return segment_.back(); }

  // Where the output is written over the first input: nobody reads or keeps that one afterwards.
  bool overwrites(std::size_t i) const {
    ValueId const v = g_.nodes[i].inputs[0];
    if (!c_.in_place || !laws_[i].may_overwrite || !g_.values[v].has_gradient) return false;
    for (std::size_t k = 0; k < g_.nodes.size(); ++k) {
      if (g_.nodes[k].output == v && laws_[k].keeps_output) return false;
      for (std::size_t p = 0; p < g_.nodes[k].inputs.size(); ++p)
        if (k != i && g_.nodes[k].inputs[p] == v && (k > i || laws_[k].keeps.contains(p))) return false;
    }
    return true;
  }

  void one_part() {
    long const draw = now_++;
    std::vector<std::size_t> at(g_.values.size(), kNone);  // the life of each value
    at[g_.input] = leaving(live(value_bytes(g_.input), draw, draw));
    variable(0, at[g_.input], draw);
    if (g_.targets != kNone) {
      at[g_.targets] = leaving(live(value_bytes(g_.targets), draw, draw));
      variable(1, at[g_.targets], draw);
    }
    std::vector<std::vector<std::size_t>> kept(g_.nodes.size());  // lives that end with a node's backward pass
    std::vector<std::vector<std::pair<ValueId, std::size_t>>> inputs(last_segment() + 1);
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      bool const keeping = segment_[i] == last_segment();
      if (!keeping)
        for (ValueId const v : g_.nodes[i].inputs)
          if (made_before(v, segment_[i])) inputs[segment_[i]].emplace_back(v, at[v]);
      forward(i, keeping, at, kept[i]);
      if (g_.nodes[i].output == g_.output) variable(2, at[g_.output], now_);
      if (g_.nodes[i].output == g_.loss) variable(3, at[g_.loss], now_);
      ++now_;
    }
    turns_.push_back(now_);
    std::vector<std::size_t> gradient(g_.values.size(), kNone);
    for (std::size_t s = last_segment() + 1; s-- > 0;) {
      if (s < last_segment()) again(s, inputs[s], kept);
      for (std::size_t i = g_.nodes.size(); i-- > 0;)
        if (segment_[i] == s) backward(i, gradient, kept[i]);
      for (std::size_t earlier = 0; earlier < s; ++earlier)
        for (auto const& [v, life] : inputs[earlier]) until(life, now_ - 1);
    }
  }
  bool made_before(ValueId v, std::size_t segment) const {
    for (std::size_t k = 0; k < g_.nodes.size(); ++k)
      if (g_.nodes[k].output == v) return segment_[k] < segment;
    return true;
  }

  void forward(std::size_t i, bool keeping, std::vector<std::size_t>& at, std::vector<std::size_t>& kept) {
    const Node& node = g_.nodes[i];
    const Law& law = laws_[i];
    for (ValueId const v : node.inputs) read(at[v], now_);
    if (overwrites(i))
      at[node.output] = at[node.inputs[0]];
    else
      at[node.output] = leaving(live(value_bytes(node.output), now_, now_));
    read(at[node.output], now_);
    for (std::uint64_t const bytes : law.kept_extras) {
      std::size_t const life = leaving(live(bytes, now_, now_));
      if (keeping) kept.push_back(life);
    }
    for (std::uint64_t const bytes : law.passing_extras) live(bytes, now_, now_);
    if (law.forward_space > 0) live(law.forward_space, now_, now_);
    if (keeping) {
      if (law.keeps_output) kept.push_back(at[node.output]);
      for (std::size_t const p : law.keeps) kept.push_back(at[node.inputs[p]]);
    }
  }

  // The second forward pass of a segment; nodes of which nothing is read stay out.
  void again(std::size_t s, const std::vector<std::pair<ValueId, std::size_t>>& inputs,
             std::vector<std::vector<std::size_t>>& kept) {
    std::size_t first = g_.nodes.size(), last = 0;
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      if (segment_[i] == s) first = std::min(first, i), last = i + 1;
    std::set<ValueId> read;
    std::vector<bool> runs(g_.nodes.size());
    for (std::size_t i = last; i-- > first;) {
      const Law& law = laws_[i];
      runs[i] = law.keeps_output || !law.kept_extras.empty() || read.contains(g_.nodes[i].output);
      for (std::size_t p = 0; p < g_.nodes[i].inputs.size(); ++p)
        if (runs[i] || law.keeps.contains(p)) read.insert(g_.nodes[i].inputs[p]);
    }
    std::vector<std::size_t> at(g_.values.size(), kNone);
    for (auto const& [v, life] : inputs) at[v] = life;
    for (std::size_t i = first; i < last; ++i) {
      if (runs[i]) {
        forward(i, true, at, kept[i]);
        ++now_;
        continue;
      }
      for (std::size_t const p : laws_[i].keeps) kept[i].push_back(at[g_.nodes[i].inputs[p]]);
      for (ValueId const v : g_.nodes[i].inputs)
        if (at[v] != kNone) until(at[v], now_ - 1);
    }
  }

  void backward(std::size_t i, std::vector<std::size_t>& gradient, std::vector<std::size_t>& kept) {
    const Node& node = g_.nodes[i];
    const Law& law = laws_[i];
    std::size_t const dout = gradient[node.output];
    if (dout != kNone) until(dout, law.passes_gradient ? now_ - 1 : now_);
    for (std::size_t const life : kept) read(life, now_);
    if (law.passes_gradient) {
      for (ValueId const v : node.inputs) {
        if (!g_.values[v].has_gradient) continue;
        if (gradient[v] != kNone) std::abort();  // no bundled model has two that pass
        gradient[v] = dout;
      }
      return;
    }
    for (ValueId const v : node.inputs) {
      if (!g_.values[v].has_gradient) continue;
      // A second gradient: both are there now, one of them from here on.
      if (gradient[v] != kNone) until(gradient[v], now_);
      gradient[v] = live(value_bytes(v), now_, now_);
    }
    if (law.backward_space > 0) live(law.backward_space, now_, now_);
    for (ParameterId const p : node.parameters)
      if (!c_.zero_gradients && gradients_[p] == kNone)
        gradients_[p] = live(4 * g_.parameters[p].elements, now_, now_);
      else if (gradients_[p] != kNone)
        until(gradients_[p], now_);
    ++now_;
    if (c_.step_in_backward) step_at_once(i);
  }

  bool is_adam_in_passes() const {
    return (c_.optimizer == Optimizer::Adam || c_.optimizer == Optimizer::AdamW) && !c_.fused;
  }

  bool is_first_reader(ParameterId p, std::size_t i) const {
    for (std::size_t k = 0; k < i; ++k)
      for (ParameterId const q : g_.nodes[k].parameters)
        if (q == p) return false;
    return true;
  }

  // One parameter after the other: until its step a gradient is there, afterwards it is not.
  void step_at_once(std::size_t i) {
    const auto& parameters = g_.nodes[i].parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      if (!is_first_reader(parameters[k], i)) continue;
      for (std::size_t rest = k; rest < parameters.size(); ++rest) until(gradients_[parameters[rest]], now_);
      if (is_adam_in_passes()) live(4 * g_.parameters[parameters[k]].elements, now_, now_);
      ++now_;
    }
  }

  void optimizer() {
    if (!c_.step_in_backward) {
      if (is_adam_in_passes())
        for (const Parameter& p : g_.parameters) live(4 * p.elements, now_, now_);
      for (std::size_t const life : gradients_)
        if (life != kNone) until(life, now_);
    }
    for (std::size_t const life : variables_)
      if (life != kNone) {
        until(life, now_);
        lives_[life].may_leave = false;
      }
    ++now_;
  }

  // The loop's variable k takes a new value; the old one is there for this moment still.
  void variable(std::size_t k, std::size_t life, long moment) {
    if (c_.delete_early) return;
    if (variables_[k] != kNone) until(variables_[k], moment);
    variables_[k] = life;
  }

  const Graph& g_;
  const Choices& c_;
  std::uint64_t n_;
  std::vector<Law> laws_;
  std::vector<std::size_t> segment_;
  std::vector<Life> lives_;
  std::vector<std::size_t> gradients_;  // the lives of parameters' gradients
  std::array<std::size_t, 4> variables_{kNone, kNone, kNone, kNone};
  std::vector<long> turns_;  // where backward passes begin
  std::uint64_t fixed_ = 0;
  long now_ = 0;
};

}  // namespace

std::uint64_t reckon_peak(const Graph& graph, const Choices& choices) {
  return Reckoning(graph, choices).peak();
}

std::uint64_t reckon_kept(const Graph& graph, std::size_t samples, Type type) {
  Choices const choices{.batch = samples, .type = type};
  std::set<ValueId> values;
  std::uint64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    if (node.output == graph.loss) continue;
    Law const law = law_of(graph, node, samples, choices);
    if (law.keeps_output) values.insert(node.output);
    for (std::size_t const p : law.keeps) values.insert(node.inputs[p]);
    for (std::uint64_t const extra : law.kept_extras) bytes += extra;
  }
  for (ValueId const v : values) bytes += graph.values[v].bytes(samples, type);
  return bytes;
}

}  // namespace tidemark::trainer
