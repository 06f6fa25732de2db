// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/graph.h"

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

}  // namespace tidemark::trainer
