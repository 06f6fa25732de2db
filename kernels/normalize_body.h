// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/normalize.h. Variances are summed around the mean, in a second pass: the difference of two large
// sums would lose what a deep network needs.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/normalize.h"
#include "kernels/number.h"

namespace tidemark::kernels {

// The sum over a channel of all samples: f(address of element 0 of the part, index in it).
template <class F>
__device__ __forceinline__ float channel_sum(const ChannelShape& shape, std::size_t channel, F f) {
  float sum = 0.0f;
  for (std::size_t o = 0; o < shape.outer; ++o) {
    std::size_t const base = (o * shape.channels + channel) * shape.inner;
    sum += lane_sum(shape.inner, [=](std::size_t i) { return f(base + i); });
  }
  return sum;
}
template <class F>
__device__ __forceinline__ void channel_each(const ChannelShape& shape, std::size_t channel, F f) {
  for (std::size_t o = 0; o < shape.outer; ++o) {
    std::size_t const base = (o * shape.channels + channel) * shape.inner;
    lane_each(shape.inner, [=](std::size_t i) { f(base + i); });
  }
}

template <class T>
__global__ void batch_norm_channels(ChannelShape shape, const T* x, Affine affine, Moments kept, Running running,
                                    T* y) {
  each_row(shape.channels, [=](std::size_t c) {
    auto const count = static_cast<float>(shape.outer * shape.inner);
    float const mean = channel_sum(shape, c, [=](std::size_t i) { return widen(x[i]); }) / count;
    float const squares = channel_sum(shape, c, [=](std::size_t i) {
      float const d = widen(x[i]) - mean;
      return d * d;
    });
    float const inverse = 1.0f / sqrtf(squares / count + kNormEpsilon);
    float const scale = inverse * affine.gamma[c], shift = affine.beta[c];
    channel_each(shape, c, [=](std::size_t i) { y[i] = narrow<T>((widen(x[i]) - mean) * scale + shift); });
    lane_once([=] {
      kept.mean[c] = mean;
      kept.inverse[c] = inverse;
      if (running.mean == nullptr) return;
      running.mean[c] = (1.0f - running.rate) * running.mean[c] + running.rate * mean;
      float const unbiased = count > 1.0f ? squares / (count - 1.0f) : squares;
      running.variance[c] = (1.0f - running.rate) * running.variance[c] + running.rate * unbiased;
    });
  });
}
template <class T>
__global__ void batch_norm_gradients(ChannelShape shape, const T* x, const T* dy, Affine affine, Moments kept,
                                     AffineGradient gradient, T* dx) {
  each_row(shape.channels, [=](std::size_t c) {
    auto const count = static_cast<float>(shape.outer * shape.inner);
    float const mean = kept.mean[c], inverse = kept.inverse[c];
    float const sum = channel_sum(shape, c, [=](std::size_t i) { return widen(dy[i]); });
    float const product =
        channel_sum(shape, c, [=](std::size_t i) { return widen(dy[i]) * ((widen(x[i]) - mean) * inverse); });
    float const scale = affine.gamma[c] * inverse, share = sum / count, slope = product / count;
    channel_each(shape, c, [=](std::size_t i) {
      dx[i] = narrow<T>(scale * (widen(dy[i]) - share - (widen(x[i]) - mean) * inverse * slope));
    });
    lane_once([=] {
      gradient.gamma[c] = (gradient.accumulate ? gradient.gamma[c] : 0.0f) + product;
      gradient.beta[c] = (gradient.accumulate ? gradient.beta[c] : 0.0f) + sum;
    });
  });
}
template <class T>
__global__ void batch_norm_known(ChannelShape shape, const T* x, Affine affine, Running running, T* y) {
  each_row(shape.channels, [=](std::size_t c) {
    float const scale = affine.gamma[c] / sqrtf(running.variance[c] + kNormEpsilon);
    float const mean = running.mean[c], shift = affine.beta[c];
    channel_each(shape, c, [=](std::size_t i) { y[i] = narrow<T>((widen(x[i]) - mean) * scale + shift); });
  });
}

// A group's channels lie side by side: its elements are one run.
template <class T>
__global__ void group_norm_groups(GroupShape groups, const T* x, Affine affine, Moments kept, T* y) {
  std::size_t const per_group = groups.shape.channels / groups.groups, inner = groups.shape.inner;
  each_row(groups.shape.outer * groups.groups, [=](std::size_t row) {
    std::size_t const n = per_group * inner, first = row % groups.groups * per_group;
    const T* const from = x + row * n;
    float const mean = lane_sum(n, [=](std::size_t i) { return widen(from[i]); }) / static_cast<float>(n);
    float const squares = lane_sum(n, [=](std::size_t i) {
      float const d = widen(from[i]) - mean;
      return d * d;
    });
    float const inverse = 1.0f / sqrtf(squares / static_cast<float>(n) + kNormEpsilon);
    for (std::size_t c = 0; c < per_group; ++c) {
      float const scale = inverse * affine.gamma[first + c], shift = affine.beta[first + c];
      T* const to = y + row * n + c * inner;
      lane_each(inner, [=](std::size_t i) { to[i] = narrow<T>((widen(from[c * inner + i]) - mean) * scale + shift); });
    }
    lane_once([=] {
      kept.mean[row] = mean;
      kept.inverse[row] = inverse;
    });
  });
}
template <class T>
__global__ void group_norm_gradients(GroupShape groups, const T* x, const T* dy, Affine affine, Moments kept, T* dx) {
  std::size_t const per_group = groups.shape.channels / groups.groups, inner = groups.shape.inner;
  each_row(groups.shape.outer * groups.groups, [=](std::size_t row) {
    std::size_t const n = per_group * inner, first = row % groups.groups * per_group;
    const T *const at = x + row * n, *const from = dy + row * n;
    T* const to = dx + row * n;
    float const mean = kept.mean[row], inverse = kept.inverse[row];
    float sum = 0.0f, product = 0.0f;
    for (std::size_t c = 0; c < per_group; ++c) {
      float const gamma = affine.gamma[first + c];
      std::size_t const base = c * inner;
      sum += gamma * lane_sum(inner, [=](std::size_t i) { return widen(from[base + i]); });
      product += gamma * lane_sum(inner, [=](std::size_t i) {
                   return widen(from[base + i]) * ((widen(at[base + i]) - mean) * inverse);
                 });
    }
    float const share = sum / static_cast<float>(n), slope = product / static_cast<float>(n);
    for (std::size_t c = 0; c < per_group; ++c) {
      float const gamma = affine.gamma[first + c];
      std::size_t const base = c * inner;
      lane_each(inner, [=](std::size_t i) {
        float const normal = (widen(at[base + i]) - mean) * inverse;
        to[base + i] = narrow<T>(inverse * (gamma * widen(from[base + i]) - share - normal * slope));
      });
    }
  });
}
template <class T>
__global__ void group_norm_sums(GroupShape groups, const T* x, const T* dy, Moments kept, AffineGradient gradient) {
  ChannelShape const shape = groups.shape;
  std::size_t const per_group = shape.channels / groups.groups;
  std::size_t const chunk = gradient.chunk == 0 ? shape.outer : gradient.chunk;
  each_row(shape.channels, [=](std::size_t c) {
    float gamma = gradient.accumulate ? gradient.gamma[c] : 0.0f, beta = gradient.accumulate ? gradient.beta[c] : 0.0f;
    for (std::size_t start = 0; start < shape.outer; start += chunk) {
      float product = 0.0f, sum = 0.0f;
      for (std::size_t o = start; o < shape.outer && o < start + chunk; ++o) {
        std::size_t const group = o * groups.groups + c / per_group;
        float const mean = kept.mean[group], inverse = kept.inverse[group];
        const T *const at = x + (o * shape.channels + c) * shape.inner, *const from =
                                                                            dy + (o * shape.channels + c) * shape.inner;
        sum += lane_sum(shape.inner, [=](std::size_t i) { return widen(from[i]); });
        product +=
            lane_sum(shape.inner, [=](std::size_t i) { return widen(from[i]) * ((widen(at[i]) - mean) * inverse); });
      }
      gamma += product;
      beta += sum;
    }
    lane_once([=] {
      gradient.gamma[c] = gamma;
      gradient.beta[c] = beta;
    });
  });
}

template <class T>
__global__ void layer_norm_rows(ChannelShape shape, const T* x, Affine affine, Moments kept, T* y) {
  each_row(shape.outer, [=](std::size_t row) {
    std::size_t const n = shape.channels;
    const T* const from = x + row * n;
    T* const to = y + row * n;
    float const mean = lane_sum(n, [=](std::size_t i) { return widen(from[i]); }) / static_cast<float>(n);
    float const squares = lane_sum(n, [=](std::size_t i) {
      float const d = widen(from[i]) - mean;
      return d * d;
    });
    float const inverse = 1.0f / sqrtf(squares / static_cast<float>(n) + kNormEpsilon);
    lane_each(n, [=](std::size_t i) {
      to[i] = narrow<T>((widen(from[i]) - mean) * inverse * affine.gamma[i] + affine.beta[i]);
    });
    lane_once([=] {
      kept.mean[row] = mean;
      kept.inverse[row] = inverse;
    });
  });
}
template <class T>
__global__ void layer_norm_gradients(ChannelShape shape, const T* x, const T* dy, Affine affine, Moments kept, T* dx) {
  each_row(shape.outer, [=](std::size_t row) {
    std::size_t const n = shape.channels;
    const T *const at = x + row * n, *const from = dy + row * n;
    T* const to = dx + row * n;
    float const mean = kept.mean[row], inverse = kept.inverse[row];
    float const share =
        lane_sum(n, [=](std::size_t i) { return widen(from[i]) * affine.gamma[i]; }) / static_cast<float>(n);
    float const slope =
        lane_sum(n,
                 [=](std::size_t i) { return widen(from[i]) * affine.gamma[i] * ((widen(at[i]) - mean) * inverse); }) /
        static_cast<float>(n);
    lane_each(n, [=](std::size_t i) {
      float const normal = (widen(at[i]) - mean) * inverse;
      to[i] = narrow<T>(inverse * (widen(from[i]) * affine.gamma[i] - share - normal * slope));
    });
  });
}
template <class T>
__global__ void layer_norm_gamma(ColumnSums sums, const T* x, const T* dy, Moments kept, float* gamma) {
  sum_columns(sums, gamma, [=](std::size_t row, std::size_t c) {
    std::size_t const i = row * sums.columns + c;
    return widen(dy[i]) * ((widen(x[i]) - kept.mean[row]) * kept.inverse[row]);
  });
}
template <class T>
__global__ void layer_norm_beta(ColumnSums sums, const T* dy, float* beta) {
  sum_columns(sums, beta, [=](std::size_t row, std::size_t c) { return widen(dy[row * sums.columns + c]); });
}

}  // namespace tidemark::kernels
