// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/outputs.h"

namespace tidemark::trainer {
namespace {

enum class Counts : std::uint8_t { AsModule, AsActivation, Not };

Counts how(Op op) {
  switch (op) {
    case Op::Relu:
    case Op::Gelu:
    case Op::Sigmoid:
    case Op::Tanh: return Counts::AsActivation;
    case Op::Linear:
    case Op::Dropout:
    case Op::Convolution:
    case Op::BatchNorm:
    case Op::GroupNorm:
    case Op::LayerNorm:
    case Op::MaxPool:
    case Op::MeanPool:
    case Op::Upsample:
    case Op::Embed:
    case Op::Attention:
    case Op::Lstm:
    case Op::Gru: return Counts::AsModule;
    default: return Counts::Not;
  }
}

}  // namespace

ModuleOutputs count_outputs(const Graph& graph) {
  ModuleOutputs outputs;
  for (const Node& node : graph.nodes) {
    std::uint64_t const elements = graph.values[node.output].shape.elements();
    Counts const counted = how(node.op);
    if (counted == Counts::AsModule) outputs.modules += elements;
    if (counted == Counts::AsActivation) outputs.activations += elements;
  }
  return outputs;
}

}  // namespace tidemark::trainer
