// SPDX-License-Identifier: Apache-2.0
// What passes cost, in operations on numbers: a product and its sum are two, a function of an element is one for each
// arithmetic step in its kernel. Products of matrices outweigh the rest by far.
#include "samples/trainer/op.h"

namespace tidemark::trainer {
namespace {

struct Flops {
  std::uint64_t products = 0;  // of matrices
  std::uint64_t elements = 0;  // everything else
};

Flops recurrent(const Sizing& s, std::uint64_t gates) {
  const Shape &x = s.input(), &y = s.output();
  std::uint64_t const width = y.size[1];
  return {.products = 2 * x.size[0] * gates * width * (x.size[1] + width), .elements = x.size[0] * width * 8 * gates};
}

// Of one sample's forward pass.
Flops of_sample(const Sizing& s) {
  const Shape &x = s.input(), &y = s.output();
  const Attributes& a = s.node.attributes;
  std::uint64_t const in = x.elements(), out = y.elements();
  switch (s.node.op) {
    case Op::Linear: return {.products = 2 * out * (x.rank == 2 ? x.size[1] : in), .elements = out};
    case Op::Convolution: return {.products = 2 * out * x.size[0] * a.size * a.size, .elements = out};
    case Op::Attention: {
      std::uint64_t const scores = a.heads * y.size[0] * y.size[0];
      return {.products = 4 * scores * (y.size[1] / a.heads), .elements = 5 * scores};
    }
    case Op::Lstm: return recurrent(s, 4);
    case Op::Gru: return recurrent(s, 3);
    case Op::ChunkedCrossEntropy: {
      std::uint64_t const moments = x.rank == 2 ? x.size[0] : 1;
      return {.products = 2 * in * a.classes, .elements = 6 * moments * a.classes};
    }
    case Op::Relu:
    case Op::Add:
    case Op::Upsample:
    case Op::Concat:
    case Op::Shortcut:
    case Op::LastMoment:
    case Op::Embed: return {.elements = out};
    case Op::Gelu: return {.elements = 9 * out};
    case Op::Sigmoid:
    case Op::Tanh: return {.elements = 3 * out};
    case Op::Dropout: return {.elements = 2 * out};
    case Op::BatchNorm:
    case Op::GroupNorm:
    case Op::LayerNorm: return {.elements = 8 * in};
    case Op::MaxPool: return {.elements = out * a.size * a.size};
    case Op::MeanPool: return {.elements = in};
    case Op::CrossEntropy: return {.elements = 6 * in};
    case Op::MaskLoss: return {.elements = 12 * in};
    case Op::Projection: return {.elements = 2 * in};
  }
  return {};
}

}  // namespace

std::uint64_t forward_flops(const Sizing& s) {
  Flops const one = of_sample(s);
  return s.samples * (one.products + one.elements);
}

// Each product has two factors, and a gradient for each; of data nobody asks for one.
std::uint64_t backward_flops(const Sizing& s) {
  if (s.node.op == Op::Add) return 0;
  Flops const one = of_sample(s);
  bool const to_input = s.graph.values[s.node.inputs[0]].has_gradient;
  return s.samples * (one.products * (to_input ? 2 : 1) + one.elements);
}

// All logits, and the scores of attention, which are half of its products.
std::uint64_t repeated_flops(const Sizing& s) {
  Flops const one = of_sample(s);
  if (s.node.op == Op::ChunkedCrossEntropy) return s.samples * (one.products + one.elements);
  if (s.node.op == Op::Attention && s.node.attributes.efficient) return s.samples * (one.products / 2 + one.elements);
  return 0;
}

}  // namespace tidemark::trainer
