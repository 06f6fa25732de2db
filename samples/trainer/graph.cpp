// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/graph.h"

#include <utility>

namespace tidemark::trainer {

std::size_t Shape::elements() const {
  std::size_t n = 1;
  for (std::size_t i = 0; i < rank; ++i) n *= size[i];
  return n;
}

std::size_t Shape::channels() const {
  return rank == 3 ? size[0] : size[rank - 1];
}

std::string Shape::text() const {
  std::string text;
  for (std::size_t i = 0; i < rank; ++i) text += (i == 0 ? "" : "x") + std::to_string(size[i]);
  return text;
}

std::size_t Value::bytes(std::size_t samples, Type type) const {
  switch (element) {
    case Element::Activation: return samples * shape.elements() * kernels::type_bytes(type);
    case Element::Int32: return samples * shape.elements() * 4;
    case Element::Byte: return samples * shape.elements();
    case Element::Scalar: return 4;
  }
  return 0;
}

std::size_t Graph::parameter_elements() const {
  std::size_t n = 0;
  for (const Parameter& p : parameters) n += p.elements;
  return n;
}

void use_efficient_attention(Graph& graph) {
  for (Node& node : graph.nodes)
    if (node.op == Op::Attention) node.attributes.efficient = true;
}

Result<void> fuse_cross_entropy(Graph& graph, std::size_t rows) {
  std::size_t const count = graph.nodes.size();
  if (count < 2 || graph.nodes[count - 1].op != Op::CrossEntropy || graph.nodes[count - 2].op != Op::Linear)
    return Error{Errc::InvalidArgument,
                 "--ce-chunk is about a linear layer with cross-entropy, which this model does not end with", ""};
  Node loss = std::move(graph.nodes.back());
  graph.nodes.pop_back();
  Node& head = graph.nodes.back();
  head.op = Op::ChunkedCrossEntropy;
  head.attributes = {.classes = graph.values[head.output].shape.channels(), .row_chunk = rows};
  head.inputs.push_back(graph.targets);
  head.output = loss.output;
  graph.output = kNone;  // logits are never there as a whole
  return {};
}

}  // namespace tidemark::trainer
