// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch_cuda.h"
#include "kernels/normalize_body.h"

namespace tidemark::kernels {

void batch_norm_forward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine, Moments kept,
                        Running running, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(batch_norm_channels<T>, row_blocks(shape.channels), stream, shape, static_cast<const T*>(x), affine,
                    kept, running, static_cast<T*>(y));
  });
}
void batch_norm_backward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                         Affine affine, Moments kept, AffineGradient gradient, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(batch_norm_gradients<T>, row_blocks(shape.channels), stream, shape, static_cast<const T*>(x),
                    static_cast<const T*>(dy), affine, kept, gradient, static_cast<T*>(dx));
  });
}
void batch_norm_evaluate(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine,
                         Running running, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(batch_norm_known<T>, row_blocks(shape.channels), stream, shape, static_cast<const T*>(x), affine,
                    running, static_cast<T*>(y));
  });
}

void group_norm_forward(cudaStream_t stream, Type type, GroupShape shape, const void* x, Affine affine, Moments kept,
                        void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(group_norm_groups<T>, row_blocks(shape.shape.outer * shape.groups), stream, shape,
                    static_cast<const T*>(x), affine, kept, static_cast<T*>(y));
  });
}
void group_norm_backward(cudaStream_t stream, Type type, GroupShape shape, const void* x, const void* dy, Affine affine,
                         Moments kept, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(group_norm_gradients<T>, row_blocks(shape.shape.outer * shape.groups), stream, shape,
                    static_cast<const T*>(x), static_cast<const T*>(dy), affine, kept, static_cast<T*>(dx));
  });
}
void group_norm_parameters(cudaStream_t stream, Type type, GroupShape shape, const void* x, const void* dy,
                           Moments kept, AffineGradient gradient) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(group_norm_sums<T>, row_blocks(shape.shape.channels), stream, shape, static_cast<const T*>(x),
                    static_cast<const T*>(dy), kept, gradient);
  });
}

void layer_norm_forward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, Affine affine, Moments kept,
                        void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(layer_norm_rows<T>, row_blocks(shape.outer), stream, shape, static_cast<const T*>(x), affine, kept,
                    static_cast<T*>(y));
  });
}
void layer_norm_backward(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                         Affine affine, Moments kept, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(layer_norm_gradients<T>, row_blocks(shape.outer), stream, shape, static_cast<const T*>(x),
                    static_cast<const T*>(dy), affine, kept, static_cast<T*>(dx));
  });
}
void layer_norm_parameters(cudaStream_t stream, Type type, ChannelShape shape, const void* x, const void* dy,
                           Moments kept, AffineGradient gradient) {
  ColumnSums const sums{
      .rows = shape.outer, .columns = shape.channels, .chunk = gradient.chunk, .accumulate = gradient.accumulate};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(layer_norm_gamma<T>, column_blocks(shape.channels), stream, sums, static_cast<const T*>(x),
                    static_cast<const T*>(dy), kept, gradient.gamma);
    TIDEMARK_LAUNCH(layer_norm_beta<T>, column_blocks(shape.channels), stream, sums, static_cast<const T*>(dy),
                    gradient.beta);
  });
}

}  // namespace tidemark::kernels
