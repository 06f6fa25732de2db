// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/loss.h.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/loss.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace tidemark::kernels {

template <class T>
__global__ void cross_entropy_rows(const T* logits, const std::int32_t* targets, float* probabilities, float* losses,
                                   Rows shape) {
  each_row(shape.rows, [=](std::size_t row) {
    const T* const x = logits + row * shape.width;
    float* const p = probabilities + row * shape.width;
    float const top = lane_max(shape.width, [=](std::size_t i) { return widen(x[i]); });
    float const sum = lane_sum(shape.width, [=](std::size_t i) { return expf(widen(x[i]) - top); });
    float const inverse = 1.0f / sum;
    lane_once([=] {
      std::int32_t const target = targets[row];
      losses[row] = target < 0 ? 0.0f : logf(sum) + top - widen(x[target]);
    });
    lane_sync();
    lane_each(shape.width, [=](std::size_t i) { p[i] = expf(widen(x[i]) - top) * inverse; });
  });
}
template <class T>
__global__ void cross_entropy_gradients(const float* probabilities, const std::int32_t* targets, T* dlogits, Rows shape,
                                        float scale) {
  each_row(shape.rows, [=](std::size_t row) {
    const float* const p = probabilities + row * shape.width;
    T* const dx = dlogits + row * shape.width;
    std::int32_t const target = targets[row];
    float const s = target < 0 ? 0.0f : scale;
    lane_each(shape.width, [=](std::size_t i) {
      dx[i] = narrow<T>((p[i] - (static_cast<std::int32_t>(i) == target ? 1.0f : 0.0f)) * s);
    });
  });
}

// log(1 + exp(-|x|)) + max(x, 0) - x t: the binary cross-entropy of a logit, without overflow.
TIDEMARK_HD float binary_cross_entropy(float x, float target) {
  return log1pf(expf(-fabsf(x))) + (x > 0.0f ? x : 0.0f) - x * target;
}

template <class T>
__global__ void mask_loss_rows(const T* logits, const std::uint8_t* targets, float* probabilities, float* sums,
                               float* losses, Rows shape) {
  each_row(shape.rows, [=](std::size_t row) {
    const T* const x = logits + row * shape.width;
    const std::uint8_t* const t = targets + row * shape.width;
    float* const p = probabilities + row * shape.width;
    auto const probability = [=](std::size_t i) { return 1.0f / (1.0f + expf(-widen(x[i]))); };
    float const entropy = lane_sum(
        shape.width, [=](std::size_t i) { return binary_cross_entropy(widen(x[i]), static_cast<float>(t[i])); });
    float const both = lane_sum(shape.width, [=](std::size_t i) { return t[i] ? probability(i) : 0.0f; });
    float const either =
        lane_sum(shape.width, [=](std::size_t i) { return probability(i) + static_cast<float>(t[i]); });
    lane_each(shape.width, [=](std::size_t i) { p[i] = probability(i); });
    lane_once([=] {
      sums[2 * row] = both;
      sums[2 * row + 1] = either;
      losses[row] = entropy / static_cast<float>(shape.width) + 1.0f - (2.0f * both + 1.0f) / (either + 1.0f);
    });
  });
}
template <class T>
__global__ void mask_loss_gradients(const float* probabilities, const float* sums, const std::uint8_t* targets,
                                    T* dlogits, Rows shape, float scale) {
  each_row(shape.rows, [=](std::size_t row) {
    const float* const p = probabilities + row * shape.width;
    const std::uint8_t* const t = targets + row * shape.width;
    T* const dx = dlogits + row * shape.width;
    float const above = 2.0f * sums[2 * row] + 1.0f, below = sums[2 * row + 1] + 1.0f;
    float const per_pixel = 1.0f / static_cast<float>(shape.width);
    lane_each(shape.width, [=](std::size_t i) {
      float const target = static_cast<float>(t[i]);
      float const dice = (2.0f * target * below - above) / (below * below);
      dx[i] = narrow<T>(((p[i] - target) * per_pixel - dice * p[i] * (1.0f - p[i])) * scale);
    });
  });
}

template <class T>
__global__ void projection_rows(const T* y, float* losses, Rows shape, Stream random) {
  each_row(shape.rows, [=](std::size_t row) {
    const T* const at = y + row * shape.width;
    float const sum =
        lane_sum(shape.width, [=](std::size_t i) { return widen(at[i]) * symmetric(random_word(random, i)); });
    lane_once([=] { losses[row] = sum; });
  });
}
template <class T>
__global__ void projection_gradients(T* dy, Rows shape, Stream random, float scale) {
  each_row(shape.rows, [=](std::size_t row) {
    T* const at = dy + row * shape.width;
    lane_each(shape.width, [=](std::size_t i) { at[i] = narrow<T>(symmetric(random_word(random, i)) * scale); });
  });
}

// Not inline: a kernel's name is what the device finds it by.
__global__ void total_of(const float* values, std::size_t n, float scale, float* out) {
  each_row(1, [=](std::size_t) {
    float const sum = lane_sum(n, [=](std::size_t i) { return values[i]; });
    lane_once([=] { out[0] = sum * scale; });
  });
}

// The order of total_of, every sum rounded to half.
__global__ void total_in_half(const float* values, std::size_t n, float scale, float* out) {
  each_row(1, [=](std::size_t) {
    lane_once([=] {
      __half part[kLanes];
      for (__half& p : part) p = narrow<__half>(0.0f);
      for (std::size_t i = 0; i < n; ++i)
        part[i % kLanes] = narrow<__half>(widen(part[i % kLanes]) + widen(narrow<__half>(values[i])));
      for (std::size_t far = kLanes / 2; far > 0; far /= 2)
        for (std::size_t lane = 0; lane < far; ++lane)
          part[lane] = narrow<__half>(widen(part[lane]) + widen(part[lane + far]));
      out[0] = widen(part[0]) * scale;
    });
  });
}

template <class T>
__global__ void column_totals(const T* x, std::size_t stride, float* out, ColumnSums sums) {
  sum_columns(sums, out, [=](std::size_t row, std::size_t column) { return widen(x[row * stride + column]); });
}
template <class T>
__global__ void channel_totals(const T* x, float* out, ChannelSums sums) {
  ChannelShape const shape = sums.shape;
  std::size_t const chunk = sums.chunk == 0 ? shape.outer : sums.chunk;
  each_row(shape.channels, [=](std::size_t channel) {
    float all = sums.accumulate ? out[channel] : 0.0f;
    for (std::size_t first = 0; first < shape.outer; first += chunk) {
      float part = 0.0f;
      for (std::size_t o = first; o < shape.outer && o < first + chunk; ++o) {
        const T* const at = x + (o * shape.channels + channel) * shape.inner;
        part += lane_sum(shape.inner, [=](std::size_t i) { return widen(at[i]); });
      }
      all += part;
    }
    lane_once([=] { out[channel] = all; });
  });
}

}  // namespace tidemark::kernels
