// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: activations, sums, biases, dropout, changes of type.
#pragma once
#include "kernels/launch.h"
#include "kernels/random_stream.h"

namespace tidemark::kernels {

// What the derivative is computed from decides what a backward pass must keep (docs/trainer.md): GELU's input, the
// others' output. GELU is the tanh form.
enum class Activation : std::uint8_t { Relu, Gelu, Sigmoid, Tanh };

// y may be x.
void activation_forward(cudaStream_t stream, Type type, Activation kind, const void* x, void* y, std::size_t n);
// dx = dy * f'(kept)
void activation_backward(cudaStream_t stream, Type type, Activation kind, const void* kept, const void* dy, void* dx,
                         std::size_t n);
// y = a + b; y may be either.
void add(cudaStream_t stream, Type type, const void* a, const void* b, void* y, std::size_t n);

// y[o][c][i] += bias[c], in place.
struct ChannelShape {
  std::size_t outer = 0, channels = 0, inner = 1;
};
void add_bias(cudaStream_t stream, Type type, void* y, const float* bias, ChannelShape shape);

// Each element is kept with probability 1 - rate and scaled by 1 / (1 - rate). first: the place of element 0 in the
// whole batch, so that parts of a batch get the mask of the whole.
struct Dropout {
  float rate = 0;
  Stream random;
  std::uint64_t first = 0;
};
void dropout_forward(cudaStream_t stream, Type type, const Dropout& dropout, const void* x, void* y, std::uint8_t* mask,
                     std::size_t n);
void dropout_backward(cudaStream_t stream, Type type, float rate, const std::uint8_t* mask, const void* dy, void* dx,
                      std::size_t n);

// The same without a mask: who can draw it again need not keep it. y may be x.
void dropout_again(cudaStream_t stream, Type type, const Dropout& dropout, const void* x, void* y, std::size_t n);

// to = from, rounded once.
void narrow_from_float(cudaStream_t stream, Type type, const float* from, void* to, std::size_t n);
// The same of a matrix whose rows lie apart.
struct Strided {
  std::size_t rows = 0, width = 0, from_stride = 0, to_stride = 0;
};
void narrow_rows(cudaStream_t stream, Type type, const Strided& shape, const float* from, void* to);

}  // namespace tidemark::kernels
