// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {

Moment adam(const Adam& a, Moment m, double gradient) {
  double g = gradient * a.step.scale;
  if (a.decoupled)
    m.weight *= 1 - static_cast<double>(a.step.rate) * a.step.weight_decay;
  else
    g += a.step.weight_decay * m.weight;
  m.mean = a.beta1 * m.mean + (1 - a.beta1) * g;
  m.square = a.beta2 * m.square + (1 - a.beta2) * g * g;
  m.weight -= a.step.rate * (m.mean / a.correction1) / (std::sqrt(m.square / a.correction2) + a.epsilon);
  return m;
}

}  // namespace tidemark::kernels::reference
