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
      if (node.attributes.efficient) {
        // A float per row of scores; tiles of at most 32 rows of all heads, in backward two and the sums of keys and
        // values in float, where they are not sums already.
        std::uint64_t const length = out.size[0], heads = node.attributes.heads;
        std::uint64_t const tile = to_256(heads * std::min<std::uint64_t>(32, length) * length * element);
        return {.keeps = {0},
                .kept_extras = {n * heads * length * 4},
                .forward_space = tile,
                .backward_space = 2 * tile + (element == 4 ? 0 : length * out.size[1] * 2 * 4)};
      }
      std::uint64_t const scores = n * node.attributes.heads * out.size[0] * out.size[0] * element;
      return {.keeps = {0},
              .kept_extras = {scores},
              .forward_space = node.attributes.rate > 0 ? scores / n : 0,
              .backward_space = scores};
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
    case Op::ChunkedCrossEntropy: {
      std::uint64_t const classes = node.attributes.classes;
      std::uint64_t const rows = std::min<std::uint64_t>(node.attributes.row_chunk, n * moments);
      return {
          .keeps = {0, 1},
          .passing_extras = {n * moments * 4},
          .forward_space = rows * classes * 4,
          .backward_space = to_256(rows * classes * 4) + to_256(rows * 4) + (element == 4 ? 0 : rows * classes * 2)};
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
  Reckoning(const Graph& graph, const Choices& choices, const Schedule* chosen)
      : g_(graph), c_(choices), n_(choices.batch / choices.accumulate) {
    for (const Node& node : g_.nodes) laws_.push_back(law_of(g_, node, n_, c_));
    order(chosen);
    find_wanted();
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
      if (c_.optimizer == Optimizer::Adafactor)  // rows and columns of a matrix, a vector whole
        fixed_ +=
            (p.rows > 1 ? rounded(4 * p.rows) : 0) + rounded(4 * (p.elements / p.rows)) - 2 * rounded(4 * p.elements);
      if (c_.optimizer == Optimizer::Adam8bit)  // a byte per element and a float per 256 of them
        fixed_ += 2 * rounded(p.elements + 4 * ((p.elements + 255) / 256)) - 2 * rounded(4 * p.elements);
      fixed_ += rounded(4 * p.elements) * (1 + states + (c_.zero_gradients ? 1 : 0));
      if (c_.type != Type::F32 && p.matrix) fixed_ += rounded(2 * p.elements);
    }
    for (const Statistic& s : g_.statistics) fixed_ += rounded(4 * s.elements);
    if (c_.check_finite) fixed_ += 512;
  }

  // The order of passes. Of checkpoints in segments: rows of the table in groups of ceil(N / round(sqrt N)), each but
  // the last run twice. Anything else is the trainer's own choice, whose memory is reckoned here.
  void order(const Schedule* chosen) {
    if (chosen != nullptr) {
      for (const Pass& pass : *chosen) passes_.push_back({pass.way == Pass::Way::Backward, pass.node});
      return;
    }
    double const rows = static_cast<double>(g_.units);
    std::size_t const all = g_.nodes.size();
    std::size_t const size = c_.checkpoint == Checkpoint::None
                                 ? g_.units + 1
                                 : static_cast<std::size_t>(std::ceil(rows / std::round(std::sqrt(rows))));
    for (std::size_t i = 0; i < all; ++i) passes_.push_back({false, i});
    std::size_t const last = g_.nodes.back().unit / size;
    for (std::size_t s = last + 1; s-- > 0;) {
      for (std::size_t i = 0; i < all && s < last; ++i)
        if (g_.nodes[i].unit / size == s) passes_.push_back({false, i});
      for (std::size_t i = all; i-- > 0;)
        if (g_.nodes[i].unit / size == s) passes_.push_back({true, i});
    }
  }

  // Which passes there really are: a forward pass that is not its node's first is there if a backward pass reads
  // something of it, or another that is there does.
  void find_wanted() {
    std::map<std::size_t, std::size_t> latest;  // pass by node
    std::map<ValueId, std::size_t> maker;
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) maker[g_.nodes[i].output] = i;
    std::vector<std::size_t> open;
    for (std::size_t k = 0; k < passes_.size(); ++k) {
      One& pass = passes_[k];
      const Node& node = g_.nodes[pass.node];
      const Law& law = laws_[pass.node];
      for (std::size_t p = 0; p < node.inputs.size(); ++p) {
        auto const made = maker.find(node.inputs[p]);
        pass.from.push_back(made == maker.end() ? kNone : latest.at(made->second));
      }
      if (!pass.backward) {
        pass.wanted = !latest.contains(pass.node);
        pass.first = pass.wanted;
        latest[pass.node] = k;
        if (pass.wanted) open.push_back(k);
        continue;
      }
      pass.own = latest.at(pass.node);
      pass.wanted = true;
      for (std::size_t const p : law.keeps)
        if (pass.from[p] != kNone) want(pass.from[p], open);
      if (law.keeps_output || !law.kept_extras.empty()) want(pass.own, open);
    }
    while (!open.empty()) {
      std::size_t const k = open.back();
      open.pop_back();
      for (std::size_t const from : passes_[k].from)
        if (from != kNone) want(from, open);
    }
  }
  void want(std::size_t k, std::vector<std::size_t>& open) {
    if (passes_[k].wanted) return;
    passes_[k].wanted = true;
    open.push_back(k);
  }

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
    std::vector<std::size_t> drawn(g_.values.size(), kNone);
    drawn[g_.input] = leaving(live(value_bytes(g_.input), draw, draw));
    variable(0, drawn[g_.input], draw);
    if (g_.targets != kNone) {
      drawn[g_.targets] = leaving(live(value_bytes(g_.targets), draw, draw));
      variable(1, drawn[g_.targets], draw);
    }
    std::vector<std::size_t> gradient(g_.values.size(), kNone);
    std::vector<std::size_t> outputs(passes_.size(), kNone);  // lives, by pass
    std::vector<std::vector<std::size_t>> extras(passes_.size());
    bool turned = false;
    for (std::size_t k = 0; k < passes_.size(); ++k) {
      const One& pass = passes_[k];
      const Node& node = g_.nodes[pass.node];
      const Law& law = laws_[pass.node];
      if (!pass.wanted) continue;
      auto const input = [&](std::size_t p) {
        return pass.from[p] == kNone ? drawn[node.inputs[p]] : outputs[pass.from[p]];
      };
      if (!pass.backward) {
        std::vector<std::size_t> inputs;
        for (std::size_t p = 0; p < node.inputs.size(); ++p) inputs.push_back(input(p));
        forward(pass.node, inputs, outputs[k], extras[k]);
        if (pass.first && node.output == g_.output) variable(2, outputs[k], now_);
        if (pass.first && node.output == g_.loss) variable(3, outputs[k], now_);
        ++now_;
        continue;
      }
      if (!turned) turns_.push_back(now_);
      turned = true;
      std::vector<std::size_t> kept;
      for (std::size_t const p : law.keeps) kept.push_back(input(p));
      if (law.keeps_output) kept.push_back(outputs[pass.own]);
      if (!law.kept_extras.empty()) kept.insert(kept.end(), extras[pass.own].begin(), extras[pass.own].end());
      backward(pass.node, gradient, kept);
    }
  }

  void forward(std::size_t i, const std::vector<std::size_t>& inputs, std::size_t& output,
               std::vector<std::size_t>& extras) {
    const Node& node = g_.nodes[i];
    const Law& law = laws_[i];
    for (std::size_t const life : inputs) read(life, now_);
    output = overwrites(i) ? inputs[0] : leaving(live(value_bytes(node.output), now_, now_));
    read(output, now_);
    for (std::uint64_t const bytes : law.kept_extras) extras.push_back(leaving(live(bytes, now_, now_)));
    for (std::uint64_t const bytes : law.passing_extras) live(bytes, now_, now_);
    if (law.forward_space > 0) live(law.forward_space, now_, now_);
  }

  void backward(std::size_t i, std::vector<std::size_t>& gradient, const std::vector<std::size_t>& kept) {
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
      scratch(parameters[k]);
      ++now_;
    }
  }
  // Adafactor's sums: a float per row and column, and two.
  void scratch(ParameterId p) {
    const Parameter& parameter = g_.parameters[p];
    if (c_.optimizer == Optimizer::Adafactor)
      live(4 * (parameter.rows + parameter.elements / parameter.rows + 2), now_, now_);
  }

  void optimizer() {
    if (!c_.step_in_backward) {
      if (is_adam_in_passes())
        for (const Parameter& p : g_.parameters) live(4 * p.elements, now_, now_);
      if (c_.optimizer == Optimizer::Adafactor)
        for (ParameterId p = 0; p < g_.parameters.size(); ++p, ++now_) scratch(p);
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
  struct One {
    bool backward = false;
    std::size_t node = 0;
    bool wanted = false, first = false;
    std::vector<std::size_t> from = {};  // the passes that made its inputs
    std::size_t own = kNone;             // backward: the pass that made output and extra buffers
  };
  std::vector<One> passes_;
  std::vector<Life> lives_;
  std::vector<std::size_t> gradients_;  // the lives of parameters' gradients
  std::array<std::size_t, 4> variables_{kNone, kNone, kNone, kNone};
  std::vector<long> turns_;  // where backward passes begin
  std::uint64_t fixed_ = 0;
  long now_ = 0;
};

}  // namespace

std::uint64_t reckon_peak(const Graph& graph, const Choices& choices, const Schedule* schedule) {
  return Reckoning(graph, choices, schedule).peak();
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
