// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_cuda.h"
#include "kernels/loss_body.h"

namespace tidemark::kernels {

void cross_entropy_forward(cudaStream_t stream, Type type, const void* logits, const std::int32_t* targets,
                           float* probabilities, float* losses, Rows shape) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(cross_entropy_rows<T>, row_blocks(shape.rows), stream, static_cast<const T*>(logits), targets,
                    probabilities, losses, shape);
  });
}
void cross_entropy_backward(cudaStream_t stream, Type type, const float* probabilities, const std::int32_t* targets,
                            void* dlogits, Rows shape, float scale) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(cross_entropy_gradients<T>, row_blocks(shape.rows), stream, probabilities, targets,
                    static_cast<T*>(dlogits), shape, scale);
  });
}

void mask_loss_forward(cudaStream_t stream, Type type, const void* logits, const std::uint8_t* targets,
                       float* probabilities, float* sums, float* losses, Rows shape) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(mask_loss_rows<T>, row_blocks(shape.rows), stream, static_cast<const T*>(logits), targets,
                    probabilities, sums, losses, shape);
  });
}
void mask_loss_backward(cudaStream_t stream, Type type, const float* probabilities, const float* sums,
                        const std::uint8_t* targets, void* dlogits, Rows shape, float scale) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(mask_loss_gradients<T>, row_blocks(shape.rows), stream, probabilities, sums, targets,
                    static_cast<T*>(dlogits), shape, scale);
  });
}

void projection_forward(cudaStream_t stream, Type type, const void* y, float* losses, Rows shape, Stream random) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(projection_rows<T>, row_blocks(shape.rows), stream, static_cast<const T*>(y), losses, shape,
                    random);
  });
}
void projection_backward(cudaStream_t stream, Type type, void* dy, Rows shape, Stream random, float scale) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(projection_gradients<T>, row_blocks(shape.rows), stream, static_cast<T*>(dy), shape, random, scale);
  });
}

void total(cudaStream_t stream, const float* values, std::size_t n, float scale, float* out) {
  TIDEMARK_LAUNCH(total_of, 1u, stream, values, n, scale, out);
}
void total_naive(cudaStream_t stream, const float* values, std::size_t n, float scale, float* out) {
  TIDEMARK_LAUNCH(total_in_half, 1u, stream, values, n, scale, out);
}

void sum_to_channels(cudaStream_t stream, Type type, const void* x, float* out, const ChannelSums& sums) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    ChannelShape const shape = sums.shape;
    if (shape.inner == 1) {
      ColumnSums const columns{
          .rows = shape.outer, .columns = shape.channels, .chunk = sums.chunk, .accumulate = sums.accumulate};
      TIDEMARK_LAUNCH(column_totals<T>, column_blocks(shape.channels), stream, static_cast<const T*>(x),
                      sums.stride == 0 ? shape.channels : sums.stride, out, columns);
    } else {
      TIDEMARK_LAUNCH(channel_totals<T>, row_blocks(shape.channels), stream, static_cast<const T*>(x), out, sums);
    }
  });
}

}  // namespace tidemark::kernels
