// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/elementwise.h.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/elementwise.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace tidemark::kernels {

// slope(kept) with kept = what forward read (GELU) or wrote (the others). A NaN stays one.
struct ReluMath {
  TIDEMARK_HD static float value(float x) { return x < 0.0f ? 0.0f : x; }
  TIDEMARK_HD static float slope(float y) { return y > 0.0f ? 1.0f : 0.0f; }
};
struct SigmoidMath {
  TIDEMARK_HD static float value(float x) { return 1.0f / (1.0f + expf(-x)); }
  TIDEMARK_HD static float slope(float y) { return y * (1.0f - y); }
};
struct TanhMath {
  TIDEMARK_HD static float value(float x) { return tanhf(x); }
  TIDEMARK_HD static float slope(float y) { return 1.0f - y * y; }
};
struct GeluMath {
  TIDEMARK_HD static float inner(float x) { return 0.7978845608f * (x + 0.044715f * x * x * x); }
  TIDEMARK_HD static float value(float x) { return 0.5f * x * (1.0f + tanhf(inner(x))); }
  TIDEMARK_HD static float slope(float x) {
    float const t = tanhf(inner(x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 0.134145f * x * x);
  }
};

template <class Math, class T>
__global__ void activation_values(const T* x, T* y, std::size_t n) {
  each_index(n, [=](std::size_t i) { y[i] = narrow<T>(Math::value(widen(x[i]))); });
}
template <class Math, class T>
__global__ void activation_slopes(const T* kept, const T* dy, T* dx, std::size_t n) {
  each_index(n, [=](std::size_t i) { dx[i] = narrow<T>(widen(dy[i]) * Math::slope(widen(kept[i]))); });
}

template <class T>
__global__ void add_elements(const T* a, const T* b, T* y, std::size_t n) {
  each_index(n, [=](std::size_t i) { y[i] = narrow<T>(widen(a[i]) + widen(b[i])); });
}

// A row is a sample's channels where these are the last dimension, else the elements of one channel.
template <class T>
__global__ void add_bias_rows(T* y, const float* bias, ChannelShape shape) {
  if (shape.inner == 1) {
    each_row(shape.outer, [=](std::size_t row) {
      T* const at = y + row * shape.channels;
      lane_each(shape.channels, [=](std::size_t c) { at[c] = narrow<T>(widen(at[c]) + bias[c]); });
    });
  } else {
    each_row(shape.outer * shape.channels, [=](std::size_t row) {
      T* const at = y + row * shape.inner;
      float const b = bias[row % shape.channels];
      lane_each(shape.inner, [=](std::size_t i) { at[i] = narrow<T>(widen(at[i]) + b); });
    });
  }
}

template <class T>
__global__ void dropout_elements(Dropout dropout, const T* x, T* y, std::uint8_t* mask, std::size_t n) {
  float const scale = 1.0f / (1.0f - dropout.rate);
  each_index(n, [=](std::size_t i) {
    bool const kept = unit(random_word(dropout.random, dropout.first + i)) >= dropout.rate;
    mask[i] = kept;
    y[i] = narrow<T>(kept ? widen(x[i]) * scale : 0.0f);
  });
}
template <class T>
__global__ void dropout_repeat(Dropout dropout, const T* x, T* y, std::size_t n) {
  float const scale = 1.0f / (1.0f - dropout.rate);
  each_index(n, [=](std::size_t i) {
    bool const kept = unit(random_word(dropout.random, dropout.first + i)) >= dropout.rate;
    y[i] = narrow<T>(kept ? widen(x[i]) * scale : 0.0f);
  });
}
template <class T>
__global__ void dropout_gradients(float rate, const std::uint8_t* mask, const T* dy, T* dx, std::size_t n) {
  float const scale = 1.0f / (1.0f - rate);
  each_index(n, [=](std::size_t i) { dx[i] = narrow<T>(mask[i] ? widen(dy[i]) * scale : 0.0f); });
}

template <class T>
__global__ void narrow_elements(const float* from, T* to, std::size_t n) {
  each_index(n, [=](std::size_t i) { to[i] = narrow<T>(from[i]); });
}
template <class T>
__global__ void narrow_strided(Strided shape, const float* from, T* to) {
  each_row(shape.rows, [=](std::size_t row) {
    lane_each(shape.width,
              [=](std::size_t i) { to[row * shape.to_stride + i] = narrow<T>(from[row * shape.from_stride + i]); });
  });
}

}  // namespace tidemark::kernels
