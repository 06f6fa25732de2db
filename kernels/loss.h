// SPDX-License-Identifier: Apache-2.0
// Losses and sums. Losses keep probabilities in float whatever the activations are stored in: sums of exponentials are
// where 16 bits fail.
#pragma once
#include "kernels/elementwise.h"
#include "kernels/launch.h"
#include "kernels/random_stream.h"

namespace tidemark::kernels {

struct Rows {
  std::size_t rows = 0, width = 0;
};

// probabilities[r][c] = softmax, losses[r] = -log(probabilities[r][target]). A target below 0 is not counted: loss 0.
// Of float, probabilities may be the logits' own place.
void cross_entropy_forward(cudaStream_t stream, Type type, const void* logits, const std::int32_t* targets,
                           float* probabilities, float* losses, Rows shape);
// dlogits = (probabilities - [c is target]) * scale; 0 where the target is below 0.
void cross_entropy_backward(cudaStream_t stream, Type type, const float* probabilities, const std::int32_t* targets,
                            void* dlogits, Rows shape, float scale);

// A row is a sample's pixels, targets are 0 or 1. losses[r] = mean of the binary cross-entropy + 1 - dice, where
// dice = (2 sum(pt) + 1) / (sum(p) + sum(t) + 1). sums[r] = {sum(pt), sum(p) + sum(t)}, for backward.
void mask_loss_forward(cudaStream_t stream, Type type, const void* logits, const std::uint8_t* targets,
                       float* probabilities, float* sums, float* losses, Rows shape);
void mask_loss_backward(cudaStream_t stream, Type type, const float* probabilities, const float* sums,
                        const std::uint8_t* targets, void* dlogits, Rows shape, float scale);

// losses[r] = sum of y[r][i] * u(i) with u drawn from the stream, in (-1, 1): a loss whose gradient, u * scale, is
// known.
void projection_forward(cudaStream_t stream, Type type, const void* y, float* losses, Rows shape, Stream random);
void projection_backward(cudaStream_t stream, Type type, void* dy, Rows shape, Stream random, float scale);

// out[0] = scale * the sum of n values.
void total(cudaStream_t stream, const float* values, std::size_t n, float scale, float* out);
// The same with sums in half, as a program does it that stores everything in 16 bits: from 65520 on they are infinite,
// and from 2048 on each of the 32 partial sums no longer sees a 1.
void total_naive(cudaStream_t stream, const float* values, std::size_t n, float scale, float* out);

// out[c] (+)= sum over o and i of x[o][c][i]; `chunk` outer indices are summed at a time (divide.h), 0: all.
struct ChannelSums {
  ChannelShape shape;
  std::size_t chunk = 0;
  bool accumulate = false;
  std::size_t stride = 0;  // from row to row where inner is 1; 0: the channels
};
void sum_to_channels(cudaStream_t stream, Type type, const void* x, float* out, const ChannelSums& sums);

}  // namespace tidemark::kernels
