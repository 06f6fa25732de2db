// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {

double activation(Activation kind, double x) {
  switch (kind) {
    case Activation::Relu: return x > 0 ? x : 0;
    case Activation::Gelu: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::Tanh: return std::tanh(x);
  }
  return 0;
}

double activation_slope(Activation kind, double x) {
  if (kind == Activation::Relu) return x > 0 ? 1 : 0;
  double const step = 1e-6;
  return (activation(kind, x + step) - activation(kind, x - step)) / (2 * step);
}

Numbers add_bias(const Numbers& y, const Numbers& bias, ChannelShape shape) {
  Numbers sum = y;
  for (std::size_t i = 0; i < y.size(); ++i) sum[i] += bias[i / shape.inner % shape.channels];
  return sum;
}

}  // namespace tidemark::kernels::reference
