// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {

Numbers softmax(const Numbers& row) {
  Numbers p;
  double sum = 0;
  for (double const x : row) sum += std::exp(x);
  for (double const x : row) p.push_back(std::exp(x) / sum);
  return p;
}

CellState lstm_cell(const Numbers& sums, const Numbers& cell_before) {
  std::size_t const h = cell_before.size();
  auto const gate = [](double x) { return activation(Activation::Sigmoid, x); };
  CellState state;
  for (std::size_t j = 0; j < h; ++j) {
    state.cell.push_back(gate(sums[h + j]) * cell_before[j] + gate(sums[j]) * std::tanh(sums[2 * h + j]));
    state.hidden.push_back(gate(sums[3 * h + j]) * std::tanh(state.cell[j]));
  }
  return state;
}

Numbers gru_cell(const Numbers& from_input, const Numbers& from_state, const Numbers& hidden_before) {
  std::size_t const h = hidden_before.size();
  auto const gate = [](double x) { return activation(Activation::Sigmoid, x); };
  Numbers hidden;
  for (std::size_t j = 0; j < h; ++j) {
    double const r = gate(from_input[j] + from_state[j]), z = gate(from_input[h + j] + from_state[h + j]);
    double const n = std::tanh(from_input[2 * h + j] + r * from_state[2 * h + j]);
    hidden.push_back((1 - z) * n + z * hidden_before[j]);
  }
  return hidden;
}

}  // namespace tidemark::kernels::reference
