// SPDX-License-Identifier: Apache-2.0
// What the kernels must compute, from the mathematical definitions, in double and without a thought for speed.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/image.h"
#include "kernels/loss.h"
#include "kernels/normalize.h"
#include "kernels/optimize.h"
#include "kernels/sequence.h"

namespace tidemark::kernels::reference {

using Numbers = std::vector<double>;

// elementwise_reference.cpp
double activation(Activation kind, double x);
// By the function's own derivative at x.
double activation_slope(Activation kind, double x);
Numbers add_bias(const Numbers& y, const Numbers& bias, ChannelShape shape);

// loss_reference.cpp
struct Judged {
  Numbers probabilities, losses;
};
Judged cross_entropy(const Numbers& logits, const std::vector<std::int32_t>& targets, Rows shape);
Judged mask_loss(const Numbers& logits, const std::vector<std::uint8_t>& targets, Rows shape);
Numbers sum_to_channels(const Numbers& x, ChannelShape shape);

// normalize_reference.cpp
struct Normalized {
  Numbers y, mean, variance;  // of each group of elements that shares them
};
// group[i]: which elements share a mean and a deviation; channel[i]: which share gamma and beta.
Normalized normalize(const Numbers& x, const std::vector<std::size_t>& group, const std::vector<std::size_t>& channel,
                     const Numbers& gamma, const Numbers& beta);

// image_reference.cpp
Numbers convolve(const Windows& windows, std::size_t samples, const Numbers& pixels, const Numbers& weights,
                 std::size_t out_channels);
Numbers max_pool(const Windows& windows, std::size_t samples, const Numbers& x);
Numbers upsample(std::size_t planes, std::size_t height, std::size_t width, const Numbers& x);

// sequence_reference.cpp
Numbers softmax(const Numbers& row);
struct CellState {
  Numbers cell, hidden;
};
// sums: what input, state and biases give to i, f, g, o.
CellState lstm_cell(const Numbers& sums, const Numbers& cell_before);
// The two parts apart, each in the order r, z, n.
Numbers gru_cell(const Numbers& from_input, const Numbers& from_state, const Numbers& hidden_before);

// optimize_reference.cpp
struct Moment {
  double weight = 0, mean = 0, square = 0;
};
Moment adam(const Adam& adam, Moment before, double gradient);

// One step of all weights of a matrix; states are changed.
Numbers adafactor(const Adafactor& factor, const Numbers& weights, const Numbers& gradients, Numbers& rows,
                  Numbers& columns);

}  // namespace tidemark::kernels::reference
