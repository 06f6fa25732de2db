// SPDX-License-Identifier: Apache-2.0
// The optimizers' steps. Parameters, gradients and states are float.
#pragma once
#include "kernels/launch.h"

namespace tidemark::kernels {

// What all steps have in common. The gradient that counts is gradient * scale (1 / loss scale); nothing happens where
// *skip is not 0 (a gradient that overflowed). weight_decay is added to the gradient, by AdamW taken off the weight.
struct Step {
  float rate = 0;
  float weight_decay = 0;
  float scale = 1;
  const std::int32_t* skip = nullptr;
};
void sgd_step(cudaStream_t stream, const Step& step, float* weight, const float* gradient, std::size_t n);
void momentum_step(cudaStream_t stream, const Step& step, float momentum, float* weight, const float* gradient,
                   float* velocity, std::size_t n);

struct Adam {
  Step step;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float correction1 = 1, correction2 = 1;  // 1 - beta^t
  bool decoupled = false;                  // AdamW
};
// In one pass, or in three with a buffer of n between them: the same bits.
void adam_step(cudaStream_t stream, const Adam& adam, float* weight, const float* gradient, float* mean, float* square,
               std::size_t n);
void adam_moments(cudaStream_t stream, const Adam& adam, const float* weight, const float* gradient, float* mean,
                  float* square, std::size_t n);
void adam_denominator(cudaStream_t stream, const Adam& adam, const float* square, float* denominator, std::size_t n);
void adam_apply(cudaStream_t stream, const Adam& adam, float* weight, const float* mean, const float* denominator,
                std::size_t n);

// Adam with states of a byte per element: kStateBlock elements share a scale, the largest of them. A state is the
// scales, then the bytes. The mean keeps its square root's digits, the mean square its fourth root's: small values
// matter most.
inline constexpr std::size_t kStateBlock = 256;
constexpr std::size_t small_state_bytes(std::size_t n) {
  return (n + kStateBlock - 1) / kStateBlock * 4 + n;
}
void adam_small_step(cudaStream_t stream, const Adam& adam, float* weight, const float* gradient, void* mean,
                     void* square, std::size_t n);

// Adafactor: instead of a mean square per element one per row and one per column of a matrix, whose product over their
// mean stands for it; of a vector (one row) one per element, and no rows' state. No momentum. A step whose root mean
// square is above `clip` is shortened to it. weight_decay is taken off the weight.
struct Adafactor {
  Step step;
  float keep = 0;  // of the old state, 1 - t^-0.8
  float epsilon = 1e-30f, clip = 1;
  std::size_t rows = 1, columns = 0;
};
constexpr std::size_t adafactor_scratch_bytes(std::size_t rows, std::size_t columns) {
  return (rows + columns + 2) * 4;
}
struct AdafactorState {
  float *rows = nullptr, *columns = nullptr;
  float* scratch = nullptr;
};
void adafactor_step(cudaStream_t stream, const Adafactor& factor, float* weight, const float* gradient,
                    const AdafactorState& state);

// *flag = 1 where a value is infinite or not a number; else it stays.
void flag_not_finite(cudaStream_t stream, const float* values, std::size_t n, std::int32_t* flag);

}  // namespace tidemark::kernels
