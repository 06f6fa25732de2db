// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/layers.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "samples/trainer/op.h"

namespace tidemark::trainer {
namespace {

Error wrong(const LayerRow& row, const std::string& what) {
  return {Errc::InvalidArgument, row.layer + " (" + row.op + "): " + what, ""};
}

std::size_t number(const LayerRow& row, std::string_view key, std::size_t otherwise) {
  auto const at = row.keys.find(key);
  return at == row.keys.end() ? otherwise : static_cast<std::size_t>(std::strtoull(at->second.c_str(), nullptr, 10));
}
float real(const LayerRow& row, std::string_view key, float otherwise) {
  auto const at = row.keys.find(key);
  return at == row.keys.end() ? otherwise : std::strtof(at->second.c_str(), nullptr);
}
Shape vector_of(std::size_t n) {
  return {.size = {n}, .rank = 1};
}
Shape series_of(std::size_t length, std::size_t width) {
  return {.size = {length, width}, .rank = 2};
}
Shape picture_of(std::size_t channels, std::size_t height, std::size_t width) {
  return {.size = {channels, height, width}, .rank = 3};
}
// He's deviation for layers in front of a ReLU.
float he(std::size_t inputs) {
  return std::sqrt(2.0f / static_cast<float>(inputs));
}

std::optional<std::size_t> windows_along(std::size_t n, const Attributes& a) {
  if (a.stride == 0 || a.size == 0 || n + 2 * a.pad < a.size) return std::nullopt;
  return (n + 2 * a.pad - a.size) / a.stride + 1;
}

}  // namespace

Result<void> GraphMaker::set_data(std::string_view kind, Shape shape, std::size_t classes) {
  bool const text = kind == "text" || kind == "masked-text";
  graph_.data = {.kind = kind == "disks"         ? Data::Disks
                         : kind == "text"        ? Data::Text
                         : kind == "masked-text" ? Data::MaskedText
                                                 : Data::Pictures,
                 .input = shape,
                 .classes = classes};
  if (shape.elements() == 0) return Error{Errc::InvalidArgument, "data of no elements: " + shape.text(), ""};
  graph_.input = value(shape, text ? Element::Int32 : Element::Activation, false);
  return {};
}

ValueId GraphMaker::value(Shape shape, Element element, bool has_gradient) {
  graph_.values.push_back({.shape = shape, .element = element, .has_gradient = has_gradient});
  return graph_.values.size() - 1;
}

ValueId GraphMaker::node(const LayerRow& row, Op op, Shape out, Attributes attributes) {
  ValueId const made = value(out, Element::Activation, true);
  graph_.nodes.push_back(
      {.op = op, .layer = row.layer, .unit = row.unit, .inputs = row.inputs, .output = made, .attributes = attributes});
  return made;
}

// Of the node that was added last.
void GraphMaker::parameter(const NewParameter& p) {
  graph_.parameters.push_back({.layer = graph_.nodes.back().layer,
                               .name = p.name,
                               .elements = p.elements,
                               .rows = p.rows,
                               .start = p.start,
                               .scale = p.scale,
                               .matrix = p.matrix});
  graph_.nodes.back().parameters.push_back(graph_.parameters.size() - 1);
}

Result<ValueId> GraphMaker::add(const LayerRow& row) {
  Shape const in = graph_.values[row.inputs[0]].shape;
  if (row.op == "relu") return node(row, Op::Relu, in);
  if (row.op == "gelu") return node(row, Op::Gelu, in);
  if (row.op == "sigmoid") return node(row, Op::Sigmoid, in);
  if (row.op == "tanh") return node(row, Op::Tanh, in);
  if (row.op == "dropout") {
    float const rate = real(row, "rate", 0.5f);
    if (!(rate >= 0 && rate < 1)) return wrong(row, "the rate is from 0 to less than 1");
    return rate == 0 ? Result<ValueId>(row.inputs[0]) : node(row, Op::Dropout, in, {.rate = rate});
  }
  if (row.op == "linear") return linear(row, in);
  if (row.op == "conv") return convolution(row, in);
  if (row.op == "batchnorm" || row.op == "groupnorm" || row.op == "layernorm") return normalization(row, in);
  if (row.op == "maxpool" || row.op == "gap" || row.op == "upsample") return pool(row, in);
  if (row.op == "shortcut") return shortcut(row, in);
  if (row.op == "add" || row.op == "concat") return two_inputs(row, in);
  if (row.op == "embed" || row.op == "attention" || row.op == "last") return sequence(row, in);
  if (row.op == "lstm" || row.op == "gru") return recurrent(row, in);
  return wrong(row, "no such layer");
}

// A sequence keeps its moments; anything else becomes a vector. tie: the layer whose first parameter is the weight.
Result<ValueId> GraphMaker::linear(const LayerRow& row, const Shape& in) {
  std::size_t const out = number(row, "out", 0), width = in.rank == 2 ? in.size[1] : in.elements();
  if (out == 0) return wrong(row, "out is missing or 0");
  ValueId const made = node(row, Op::Linear, in.rank == 2 ? series_of(in.size[0], out) : vector_of(out));
  if (auto const tie = row.keys.find("tie"); tie != row.keys.end()) {
    for (ParameterId p = 0; p < graph_.parameters.size(); ++p)
      if (graph_.parameters[p].layer == tie->second && graph_.parameters[p].elements == out * width) {
        graph_.nodes.back().parameters.push_back(p);
        return made;
      }
    return wrong(row, "no parameter of " + tie->second + " has " + std::to_string(out * width) + " elements");
  }
  parameter({.name = "weight",
             .elements = out * width,
             .rows = out,
             .start = Start::Normal,
             .scale = real(row, "init", he(width)),
             .matrix = true});
  if (number(row, "bias", 1) != 0) parameter({.name = "bias", .elements = out});
  return made;
}

Result<ValueId> GraphMaker::convolution(const LayerRow& row, const Shape& in) {
  Attributes const a{.size = number(row, "size", 1), .stride = number(row, "stride", 1), .pad = number(row, "pad", 0)};
  std::size_t const out = number(row, "out", 0);
  if (in.rank != 3) return wrong(row, "needs pictures, not " + in.text());
  auto const height = windows_along(in.size[1], a), width = windows_along(in.size[2], a);
  if (out == 0 || !height || !width) return wrong(row, "its window does not fit pictures of " + in.text());
  ValueId const made = node(row, Op::Convolution, picture_of(out, *height, *width), a);
  std::size_t const window = in.size[0] * a.size * a.size;
  parameter({.name = "weight",
             .elements = out * window,
             .rows = out,
             .start = Start::Normal,
             .scale = he(window),
             .matrix = true});
  if (number(row, "bias", 1) != 0) parameter({.name = "bias", .elements = out});
  return made;
}

Result<ValueId> GraphMaker::normalization(const LayerRow& row, const Shape& in) {
  std::size_t const channels = in.channels(), groups = number(row, "groups", 1);
  if (row.op == "groupnorm" && (groups == 0 || channels % groups != 0))
    return wrong(row, std::to_string(channels) + " channels are not " + std::to_string(groups) + " equal groups");
  Op const op = row.op == "batchnorm" ? Op::BatchNorm : row.op == "groupnorm" ? Op::GroupNorm : Op::LayerNorm;
  ValueId const made = node(row, op, in, {.groups = groups});
  parameter({.name = "weight", .elements = channels, .scale = 1});
  parameter({.name = "bias", .elements = channels});
  if (op == Op::BatchNorm)
    for (auto const& [name, start] : {std::pair{"mean", 0.0f}, std::pair{"variance", 1.0f}}) {
      graph_.statistics.push_back({.layer = row.layer, .name = name, .elements = channels, .start = start});
      graph_.nodes.back().statistics.push_back(graph_.statistics.size() - 1);
    }
  return made;
}

Result<ValueId> GraphMaker::pool(const LayerRow& row, const Shape& in) {
  if (in.rank != 3) return wrong(row, "needs pictures, not " + in.text());
  if (row.op == "gap") return node(row, Op::MeanPool, vector_of(in.size[0]));
  if (row.op == "upsample") return node(row, Op::Upsample, picture_of(in.size[0], 2 * in.size[1], 2 * in.size[2]));
  Attributes const a{.size = number(row, "size", 2), .stride = number(row, "stride", 2), .pad = number(row, "pad", 0)};
  auto const height = windows_along(in.size[1], a), width = windows_along(in.size[2], a);
  if (!height || !width) return wrong(row, "its window does not fit pictures of " + in.text());
  return node(row, Op::MaxPool, picture_of(in.size[0], *height, *width), a);
}

Result<ValueId> GraphMaker::shortcut(const LayerRow& row, const Shape& in) {
  std::size_t const out = number(row, "out", 0), stride = number(row, "stride", 1);
  if (in.rank != 3 || out < in.size[0]) return wrong(row, "cannot make " + std::to_string(out) + " channels");
  if (out == in.size[0] && stride == 1) return row.inputs[0];
  auto const along = [&](std::size_t n) { return (n + stride - 1) / stride; };
  return node(row, Op::Shortcut, picture_of(out, along(in.size[1]), along(in.size[2])), {.stride = stride});
}

Result<ValueId> GraphMaker::two_inputs(const LayerRow& row, const Shape& in) {
  if (row.inputs.size() != 2) return wrong(row, "takes two values");
  const Shape& other = graph_.values[row.inputs[1]].shape;
  if (row.op == "add") {
    if (!(other == in)) return wrong(row, "cannot add " + other.text() + " to " + in.text());
    return node(row, Op::Add, in);
  }
  if (in.rank != 3 || other.rank != 3 || in.size[1] != other.size[1] || in.size[2] != other.size[2])
    return wrong(row, "cannot join " + other.text() + " to " + in.text());
  return node(row, Op::Concat, picture_of(in.size[0] + other.size[0], in.size[1], in.size[2]));
}

Result<ValueId> GraphMaker::sequence(const LayerRow& row, const Shape& in) {
  if (row.op == "embed") {
    std::size_t const width = number(row, "width", 0);
    if (width == 0) return wrong(row, "width is missing or 0");
    ValueId const made = node(row, Op::Embed, series_of(in.size[0], width));
    parameter({.name = "words",
               .elements = graph_.data.classes * width,
               .rows = graph_.data.classes,
               .start = Start::Normal,
               .scale = 0.02f,
               .matrix = true});
    parameter({.name = "positions",
               .elements = in.size[0] * width,
               .rows = in.size[0],
               .start = Start::Normal,
               .scale = 0.02f,
               .matrix = true});
    return made;
  }
  if (in.rank != 2) return wrong(row, "needs a sequence, not " + in.text());
  if (row.op == "last") return node(row, Op::LastMoment, vector_of(in.size[1]));
  std::size_t const heads = number(row, "heads", 1);
  if (heads == 0 || in.size[1] % (3 * heads) != 0)
    return wrong(row, std::to_string(in.size[1]) + " channels are not query, key and value of " +
                          std::to_string(heads) + " heads");
  float const rate = real(row, "rate", 0);
  if (!(rate >= 0 && rate < 1)) return wrong(row, "the rate is from 0 to less than 1");
  return node(row, Op::Attention, series_of(in.size[0], in.size[1] / 3),
              {.heads = heads, .causal = number(row, "causal", 0) != 0, .rate = rate});
}

Result<ValueId> GraphMaker::recurrent(const LayerRow& row, const Shape& in) {
  std::size_t const width = number(row, "out", 0);
  if (in.rank != 2 || width == 0) return wrong(row, "needs a sequence and a width");
  bool const lstm = row.op == "lstm";
  ValueId const made = node(row, lstm ? Op::Lstm : Op::Gru, series_of(in.size[0], width));
  std::size_t const gates = (lstm ? 4 : 3) * width;
  float const bound = 1.0f / std::sqrt(static_cast<float>(width));
  for (auto const& [name, inputs] : {std::pair{"weight_input", in.size[1]}, std::pair{"weight_state", width}})
    parameter({.name = name,
               .elements = gates * inputs,
               .rows = gates,
               .start = Start::Uniform,
               .scale = bound,
               .matrix = true});
  for (const char* const name : {"bias_input", "bias_state"})
    parameter({.name = name, .elements = gates, .start = Start::Uniform, .scale = bound});
  return made;
}

Result<Graph> GraphMaker::finish(std::string_view loss, std::size_t unit) && {
  if (graph_.nodes.empty()) return Error{Errc::InvalidArgument, "a model without layers", ""};
  graph_.output = graph_.nodes.back().output;
  Shape const out = graph_.values[graph_.output].shape;
  LayerRow row{.layer = "loss", .op = std::string(loss), .inputs = {graph_.output}, .unit = unit};
  Op op = Op::Projection;
  if (loss == "cross-entropy") {
    op = Op::CrossEntropy;
    if (out.channels() != graph_.data.classes)
      return wrong(row, out.text() + " for " + std::to_string(graph_.data.classes) + " classes");
    graph_.targets = value(out.rank == 2 ? vector_of(out.size[0]) : vector_of(1), Element::Int32, false);
  } else if (loss == "mask-loss") {
    op = Op::MaskLoss;
    if (out.rank != 3 || out.size[0] != 1) return wrong(row, "one channel of pixels is judged, not " + out.text());
    graph_.targets = value(vector_of(out.elements()), Element::Byte, false);
  } else if (loss != "projection") {
    return wrong(row, "no such loss");
  }
  if (graph_.targets != kNone) row.inputs.push_back(graph_.targets);
  graph_.loss = node(row, op, vector_of(1));
  graph_.values[graph_.loss].element = Element::Scalar;
  graph_.units = unit + 1;
  return std::move(graph_);
}

}  // namespace tidemark::trainer
