// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

Numbers adafactor(const Adafactor& f, const Numbers& weights, const Numbers& gradients, Numbers& rows,
                  Numbers& columns) {
  auto const square = [&](std::size_t r, std::size_t c) {
    double const g = gradients[r * f.columns + c] * f.step.scale;
    return g * g + f.epsilon;
  };
  auto const blend = [&](double& state, double now) { state = f.keep * state + (1.0 - f.keep) * now; };
  double mean = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < f.columns; ++c) sum += square(r, c);
    blend(rows[r], sum / static_cast<double>(f.columns));
    mean += rows[r] / static_cast<double>(f.rows);
  }
  for (std::size_t c = 0; c < f.columns; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < f.rows; ++r) sum += square(r, c);
    blend(columns[c], sum / static_cast<double>(f.rows));
  }
  Numbers step(weights.size());
  double length = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    double const v = columns[i % f.columns] * (rows.empty() ? 1.0 : rows[i / f.columns] / mean);
    step[i] = gradients[i] * f.step.scale / std::sqrt(v);
    length += step[i] * step[i] / static_cast<double>(step.size());
  }
  double const shorter = std::max(1.0, std::sqrt(length) / f.clip);
  Numbers after = weights;
  for (std::size_t i = 0; i < after.size(); ++i)
    after[i] -= f.step.rate * (step[i] / shorter + f.step.weight_decay * weights[i]);
  return after;
}

}  // namespace tidemark::kernels::reference
