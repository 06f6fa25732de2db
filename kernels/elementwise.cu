// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise_body.h"
#include "kernels/launch_cuda.h"

namespace tidemark::kernels {
namespace {

template <class F>
void with_math(Activation kind, F f) {
  switch (kind) {
    case Activation::Relu: f(ReluMath{}); break;
    case Activation::Gelu: f(GeluMath{}); break;
    case Activation::Sigmoid: f(SigmoidMath{}); break;
    case Activation::Tanh: f(TanhMath{}); break;
  }
}

}  // namespace

void activation_forward(cudaStream_t stream, Type type, Activation kind, const void* x, void* y, std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_math(kind, [&](auto math) {
      TIDEMARK_LAUNCH((activation_values<decltype(math), T>), index_blocks(n), stream, static_cast<const T*>(x),
                      static_cast<T*>(y), n);
    });
  });
}

void activation_backward(cudaStream_t stream, Type type, Activation kind, const void* kept, const void* dy, void* dx,
                         std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_math(kind, [&](auto math) {
      TIDEMARK_LAUNCH((activation_slopes<decltype(math), T>), index_blocks(n), stream, static_cast<const T*>(kept),
                      static_cast<const T*>(dy), static_cast<T*>(dx), n);
    });
  });
}

void add(cudaStream_t stream, Type type, const void* a, const void* b, void* y, std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(add_elements<T>, index_blocks(n), stream, static_cast<const T*>(a), static_cast<const T*>(b),
                    static_cast<T*>(y), n);
  });
}

void add_bias(cudaStream_t stream, Type type, void* y, const float* bias, ChannelShape shape) {
  std::size_t const rows = shape.inner == 1 ? shape.outer : shape.outer * shape.channels;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(add_bias_rows<T>, row_blocks(rows), stream, static_cast<T*>(y), bias, shape);
  });
}

void dropout_forward(cudaStream_t stream, Type type, const Dropout& dropout, const void* x, void* y, std::uint8_t* mask,
                     std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(dropout_elements<T>, index_blocks(n), stream, dropout, static_cast<const T*>(x), static_cast<T*>(y),
                    mask, n);
  });
}

void dropout_again(cudaStream_t stream, Type type, const Dropout& dropout, const void* x, void* y, std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(dropout_repeat<T>, index_blocks(n), stream, dropout, static_cast<const T*>(x), static_cast<T*>(y),
                    n);
  });
}

void dropout_backward(cudaStream_t stream, Type type, float rate, const std::uint8_t* mask, const void* dy, void* dx,
                      std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(dropout_gradients<T>, index_blocks(n), stream, rate, mask, static_cast<const T*>(dy),
                    static_cast<T*>(dx), n);
  });
}

void narrow_from_float(cudaStream_t stream, Type type, const float* from, void* to, std::size_t n) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(narrow_elements<T>, index_blocks(n), stream, from, static_cast<T*>(to), n);
  });
}
void narrow_rows(cudaStream_t stream, Type type, const Strided& shape, const float* from, void* to) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(narrow_strided<T>, row_blocks(shape.rows), stream, shape, from, static_cast<T*>(to));
  });
}

}  // namespace tidemark::kernels
