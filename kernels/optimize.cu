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
void flag_not_finite(cudaStream_t stream, const float* values, std::size_t n, std::int32_t* flag) {
  TIDEMARK_LAUNCH(flag_elements, index_blocks(n), stream, values, n, flag);
}

}  // namespace tidemark::kernels
