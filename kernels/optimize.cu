// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_cuda.h"
#include "kernels/optimize_body.h"

namespace tidemark::kernels {

void sgd_step(cudaStream_t stream, const Step& step, float* weight, const float* gradient, std::size_t n) {
  TIDEMARK_LAUNCH(sgd_elements, index_blocks(n), stream, step, weight, gradient, n);
}
void momentum_step(cudaStream_t stream, const Step& step, float momentum, float* weight, const float* gradient,
                   float* velocity, std::size_t n) {
  TIDEMARK_LAUNCH(momentum_elements, index_blocks(n), stream, step, momentum, weight, gradient, velocity, n);
}
void adam_step(cudaStream_t stream, const Adam& adam, float* weight, const float* gradient, float* mean, float* square,
               std::size_t n) {
  TIDEMARK_LAUNCH(adam_elements, index_blocks(n), stream, adam, weight, gradient, mean, square, n);
}
void adam_moments(cudaStream_t stream, const Adam& adam, const float* weight, const float* gradient, float* mean,
                  float* square, std::size_t n) {
  TIDEMARK_LAUNCH(adam_moment_elements, index_blocks(n), stream, adam, weight, gradient, mean, square, n);
}
void adam_denominator(cudaStream_t stream, const Adam& adam, const float* square, float* denominator, std::size_t n) {
  TIDEMARK_LAUNCH(adam_denominators, index_blocks(n), stream, adam, square, denominator, n);
}
void adam_apply(cudaStream_t stream, const Adam& adam, float* weight, const float* mean, const float* denominator,
                std::size_t n) {
  TIDEMARK_LAUNCH(adam_weights, index_blocks(n), stream, adam, weight, mean, denominator, n);
}
void adam_small_step(cudaStream_t stream, const Adam& adam, float* weight, const float* gradient, void* mean,
                     void* square, std::size_t n) {
  TIDEMARK_LAUNCH(adam_small_blocks, row_blocks((n + kStateBlock - 1) / kStateBlock), stream, adam, weight, gradient,
                  static_cast<float*>(mean), static_cast<float*>(square), n);
}
void adafactor_step(cudaStream_t stream, const Adafactor& f, float* weight, const float* gradient,
                    const AdafactorState& state) {
  float* const sums = state.scratch;
  float *const lengths = sums + f.columns, *const mean = lengths + f.rows, *const mean_square = mean + 1;
  if (state.rows != nullptr) {
    TIDEMARK_LAUNCH(factor_rows, row_blocks(f.rows), stream, f, gradient, state.rows);
    TIDEMARK_LAUNCH(factor_mean, 1u, stream, state.rows, f.rows, f.rows, mean);
  }
  TIDEMARK_LAUNCH(factor_column_sums, column_blocks(f.columns), stream, f, gradient, sums);
  TIDEMARK_LAUNCH(factor_columns, index_blocks(f.columns), stream, f, sums, state.columns);
  TIDEMARK_LAUNCH(factor_lengths, row_blocks(f.rows), stream, f, state, gradient, mean, lengths);
  TIDEMARK_LAUNCH(factor_mean, 1u, stream, lengths, f.rows, f.rows * f.columns, mean_square);
  TIDEMARK_LAUNCH(factor_weights, row_blocks(f.rows), stream, f, state, gradient, mean, mean_square, weight);
}
void flag_not_finite(cudaStream_t stream, const float* values, std::size_t n, std::int32_t* flag) {
  TIDEMARK_LAUNCH(flag_elements, index_blocks(n), stream, values, n, flag);
}

}  // namespace tidemark::kernels
