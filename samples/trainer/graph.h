// SPDX-License-Identifier: Apache-2.0
// A model as data: values, parameters and the nodes that make one value out of others, in the order of the forward
// pass. Shapes are those of one sample; how many samples there are, what is kept, computed twice or freed is not the
// graph's business but the plan's (plan.h).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/launch.h"

namespace tidemark::trainer {

using kernels::Type;

// [features], [time, channels] or [channels, height, width]
struct Shape {
  std::array<std::size_t, 3> size{};
  std::size_t rank = 0;
  std::size_t elements() const;
  // A picture's channels, the last dimension of everything else.
  std::size_t channels() const;
  std::string text() const;
  bool operator==(const Shape&) const = default;
};

// What a value's elements are. Activations are stored in the plan's type; a scalar is one float for all samples.
enum class Element : std::uint8_t { Activation, Int32, Byte, Scalar };

using ValueId = std::size_t;
using ParameterId = std::size_t;
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Value {
  Shape shape;
  Element element = Element::Activation;
  bool has_gradient = false;  // data has none
  std::size_t bytes(std::size_t samples, Type type) const;
};

// How parameters begin: constant, or drawn from (-scale, scale), or normal with that deviation.
enum class Start : std::uint8_t { Constant, Uniform, Normal };

struct Parameter {
  std::string layer;  // the layer it belongs to
  std::string name;   // "weight", "bias", ...
  std::size_t elements = 0;
  std::size_t rows = 1;  // of a matrix; a vector is one row
  Start start = Start::Constant;
  float scale = 0;
  // Multiplied as a matrix, or looked up: with 16-bit activations it has a working copy in their type.
  bool matrix = false;
};

// Kept from step to step, but not trained: running statistics.
struct Statistic {
  std::string layer, name;
  std::size_t elements = 0;
  float start = 0;
};

enum class Op : std::uint8_t {
  Linear,
  Relu,
  Gelu,
  Sigmoid,
  Tanh,
  Add,
  Dropout,
  CrossEntropy,
  MaskLoss,
  Projection,
  Convolution,
  BatchNorm,
  GroupNorm,
  LayerNorm,
  MaxPool,
  MeanPool,
  Upsample,
  Concat,
  Shortcut,
  Embed,
  Attention,
  Lstm,
  Gru,
  LastMoment,
  ChunkedCrossEntropy,  // a linear layer and cross-entropy over what it makes, some rows at a time
};

// What the node's op needs to know beside shapes; each op reads its own.
struct Attributes {
  std::size_t size = 1, stride = 1, pad = 0;  // of a window
  std::size_t heads = 1, groups = 1;
  bool causal = false;
  bool efficient = false;                  // attention that keeps no probabilities
  std::size_t classes = 0, row_chunk = 0;  // of chunked cross-entropy
  float rate = 0;                          // of dropout
};

inline constexpr std::size_t kMaxInputs = 2;
inline constexpr std::size_t kMaxParameters = 4;

struct Node {
  Op op{};
  std::string layer;  // dotted path, also its mark
  std::size_t unit =
      0;  // the row of the model's table it comes from, repetitions counted: what checkpoints lie between
  std::vector<ValueId> inputs;
  ValueId output = kNone;
  std::vector<ParameterId> parameters;
  std::vector<std::size_t> statistics;
  Attributes attributes;
};

// What the samples are: how inputs and targets are drawn (kernels/generate.h).
enum class Data : std::uint8_t { Pictures, Disks, Text, MaskedText };
struct DataSpec {
  Data kind = Data::Pictures;
  Shape input;              // a picture, [time, features] or [time]
  std::size_t classes = 0;  // or words
};

struct Graph {
  DataSpec data;
  ValueId input = kNone, targets = kNone;
  ValueId output = kNone;  // what the loss is computed from
  ValueId loss = kNone;
  std::vector<Value> values;
  std::vector<Parameter> parameters;
  std::vector<Statistic> statistics;
  std::vector<Node> nodes;
  std::size_t units = 0;
  std::size_t parameter_elements() const;
};

// Tricks that change ops, not the plan. The model stays the same function.
void use_efficient_attention(Graph& graph);
// The last linear layer and the cross-entropy behind it become one op, which makes `rows` rows of logits at a time.
Result<void> fuse_cross_entropy(Graph& graph, std::size_t rows);

}  // namespace tidemark::trainer
