// SPDX-License-Identifier: Apache-2.0
// Normalisation: batch, group, layer. All keep their input and, in float, a mean and an inverse deviation per group.
#pragma once
#include "kernels/elementwise.h"
#include "kernels/launch.h"

namespace tidemark::kernels {

inline constexpr float kNormEpsilon = 1e-5f;

// gamma, beta: one per channel. dgamma, dbeta (backward): (+)=.
struct Affine {
  const float *gamma = nullptr, *beta = nullptr;
};
struct AffineGradient {
  float *gamma = nullptr, *beta = nullptr;
  bool accumulate = false;
  std::size_t chunk = 0;  // outer indices summed at a time (divide.h), 0: all; batch norm has no parts to sum by
};
struct Moments {
  float *mean = nullptr, *inverse = nullptr;
};
// running = (1 - rate) * running + rate * the batch's; the variance is the unbiased one. Null: nothing is updated.
struct Running {
  float *mean = nullptr, *variance = nullptr;
  float rate = 0.1f;
};

// Statistics per channel over outer and inner.
void batch_norm_forward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine, Moments kept,
                        Running running, void* y);
void batch_norm_backward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                         Affine affine, Moments kept, AffineGradient gradient, void* dx);
// With the running statistics.
void batch_norm_evaluate(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine,
                         Running running, void* y);

// Statistics per outer index and group of channels: outer * groups of them.
struct GroupShape {
  ChannelShape shape;
  std::size_t groups = 1;
};
void group_norm_forward(cudaStream_t stream, Type type, GroupShape shape, const void* x, Affine affine, Moments kept,
                        void* y);
void group_norm_backward(cudaStream_t stream, Type type, GroupShape shape, const void* x, const void* dy, Affine affine,
                         Moments kept, void* dx);
void group_norm_parameters(cudaStream_t stream, Type type, GroupShape shape, const void* x, const void* dy,
                           Moments kept, AffineGradient gradient);

// Statistics per outer index over the channels; inner is 1.
void layer_norm_forward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine, Moments kept,
                        void* y);
void layer_norm_backward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                         Affine affine, Moments kept, void* dx);
void layer_norm_parameters(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                           Moments kept, AffineGradient gradient);

}  // namespace tidemark::kernels
