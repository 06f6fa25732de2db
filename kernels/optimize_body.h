// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/optimize.h.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/optimize.h"

namespace tidemark::kernels {

TIDEMARK_HD bool skipped(const Step& step) {
  return step.skip != nullptr && *step.skip != 0;
}
TIDEMARK_HD float counted_gradient(const Step& step, float gradient, float weight) {
  return gradient * step.scale + step.weight_decay * weight;
}

__global__ void sgd_elements(Step step, float* weight, const float* gradient, std::size_t n) {
  if (skipped(step)) return;
  each_index(n, [=](std::size_t i) { weight[i] -= step.rate * counted_gradient(step, gradient[i], weight[i]); });
}

__global__ void momentum_elements(Step step, float momentum, float* weight, const float* gradient, float* velocity,
                                  std::size_t n) {
  if (skipped(step)) return;
  each_index(n, [=](std::size_t i) {
    float const v = momentum * velocity[i] + counted_gradient(step, gradient[i], weight[i]);
    velocity[i] = v;
    weight[i] -= step.rate * v;
  });
}

TIDEMARK_HD float adam_gradient(const Adam& adam, float gradient, float weight) {
  return adam.decoupled ? gradient * adam.step.scale : counted_gradient(adam.step, gradient, weight);
}
TIDEMARK_HD float adam_mean(const Adam& adam, float mean, float g) {
  return adam.beta1 * mean + (1.0f - adam.beta1) * g;
}
TIDEMARK_HD float adam_square(const Adam& adam, float square, float g) {
  return adam.beta2 * square + (1.0f - adam.beta2) * (g * g);
}
TIDEMARK_HD float adam_root(const Adam& adam, float square) {
  return sqrtf(square / adam.correction2) + adam.epsilon;
}
TIDEMARK_HD float adam_weight(const Adam& adam, float weight, float mean, float root) {
  float const decayed = adam.decoupled ? weight - adam.step.rate * adam.step.weight_decay * weight : weight;
  return decayed - adam.step.rate / adam.correction1 * mean / root;
}

__global__ void adam_elements(Adam adam, float* weight, const float* gradient, float* mean, float* square,
                              std::size_t n) {
  if (skipped(adam.step)) return;
  each_index(n, [=](std::size_t i) {
    float const g = adam_gradient(adam, gradient[i], weight[i]);
    float const m = adam_mean(adam, mean[i], g), v = adam_square(adam, square[i], g);
    mean[i] = m;
    square[i] = v;
    weight[i] = adam_weight(adam, weight[i], m, adam_root(adam, v));
  });
}
__global__ void adam_moment_elements(Adam adam, const float* weight, const float* gradient, float* mean, float* square,
                                     std::size_t n) {
  if (skipped(adam.step)) return;
  each_index(n, [=](std::size_t i) {
    float const g = adam_gradient(adam, gradient[i], weight[i]);
    mean[i] = adam_mean(adam, mean[i], g);
    square[i] = adam_square(adam, square[i], g);
  });
}
__global__ void adam_denominators(Adam adam, const float* square, float* denominator, std::size_t n) {
  each_index(n, [=](std::size_t i) { denominator[i] = adam_root(adam, square[i]); });
}
__global__ void adam_weights(Adam adam, float* weight, const float* mean, const float* denominator, std::size_t n) {
  if (skipped(adam.step)) return;
  each_index(n, [=](std::size_t i) { weight[i] = adam_weight(adam, weight[i], mean[i], denominator[i]); });
}

TIDEMARK_HD float signed_from_byte(std::int8_t q, float scale) {
  float const root = static_cast<float>(q) * (1.0f / 127.0f);
  return root * fabsf(root) * scale;
}
TIDEMARK_HD std::int8_t signed_to_byte(float x, float scale) {
  float const root = scale > 0.0f ? sqrtf(fabsf(x) / scale) * 127.0f : 0.0f;
  return static_cast<std::int8_t>(x < 0.0f ? -rintf(root) : rintf(root));
}
TIDEMARK_HD float unsigned_from_byte(std::uint8_t q, float scale) {
  float const root = static_cast<float>(q) * (1.0f / 255.0f), square = root * root;
  return square * square * scale;
}
// Rounded up: a mean square that becomes 0 would make the step as large as can be.
TIDEMARK_HD std::uint8_t unsigned_to_byte(float x, float scale) {
  float const root = scale > 0.0f ? sqrtf(sqrtf(x / scale)) * 255.0f : 0.0f;
  float const up = ceilf(root);
  return static_cast<std::uint8_t>(up > 255.0f ? 255.0f : up);
}

// A row is a block: what the states become is computed twice, for the largest of them and to be stored.
__global__ void adam_small_blocks(Adam adam, float* weight, const float* gradient, float* mean, float* square,
                                  std::size_t n) {
  if (skipped(adam.step)) return;
  std::size_t const blocks = (n + kStateBlock - 1) / kStateBlock;
  auto* const mean_bytes = reinterpret_cast<std::int8_t*>(mean + blocks);
  auto* const square_bytes = reinterpret_cast<std::uint8_t*>(square + blocks);
  each_row(blocks, [=](std::size_t row) {
    std::size_t const first = row * kStateBlock, size = n - first < kStateBlock ? n - first : kStateBlock;
    float const old_mean = mean[row], old_square = square[row];
    auto const next_mean = [=](std::size_t i, float g) {
      return adam_mean(adam, signed_from_byte(mean_bytes[i], old_mean), g);
    };
    auto const next_square = [=](std::size_t i, float g) {
      return adam_square(adam, unsigned_from_byte(square_bytes[i], old_square), g);
    };
    float const largest = lane_max(size, [=](std::size_t k) {
      std::size_t const i = first + k;
      return fabsf(next_mean(i, adam_gradient(adam, gradient[i], weight[i])));
    });
    float const largest_square = lane_max(size, [=](std::size_t k) {
      std::size_t const i = first + k;
      return next_square(i, adam_gradient(adam, gradient[i], weight[i]));
    });
    lane_each(size, [=](std::size_t k) {
      std::size_t const i = first + k;
      float const g = adam_gradient(adam, gradient[i], weight[i]);
      float const m = next_mean(i, g), v = next_square(i, g);
      mean_bytes[i] = signed_to_byte(m, largest);
      square_bytes[i] = unsigned_to_byte(v, largest_square);
      weight[i] = adam_weight(adam, weight[i], m, adam_root(adam, v));
    });
    lane_sync();
    lane_once([=] {
      mean[row] = largest;
      square[row] = largest_square;
    });
  });
}

TIDEMARK_HD float factor_square(const Adafactor& f, float gradient) {
  float const g = gradient * f.step.scale;
  return g * g + f.epsilon;
}
TIDEMARK_HD float factor_blend(const Adafactor& f, float old, float now) {
  return f.keep * old + (1.0f - f.keep) * now;
}
// The step's direction: the gradient over the root of what stands for its mean square.
TIDEMARK_HD float factor_direction(const Adafactor& f, const AdafactorState& state, const float* mean, float gradient,
                                   std::size_t row, std::size_t column) {
  float const share = state.rows == nullptr ? 1.0f : state.rows[row] / *mean;
  return gradient * f.step.scale / sqrtf(share * state.columns[column]);
}

__global__ void factor_rows(Adafactor f, const float* gradient, float* rows) {
  if (skipped(f.step)) return;
  each_row(f.rows, [=](std::size_t row) {
    const float* const g = gradient + row * f.columns;
    float const sum = lane_sum(f.columns, [=](std::size_t i) { return factor_square(f, g[i]); });
    lane_once([=] { rows[row] = factor_blend(f, rows[row], sum / static_cast<float>(f.columns)); });
  });
}
__global__ void factor_column_sums(Adafactor f, const float* gradient, float* sums) {
  sum_columns({.rows = f.rows, .columns = f.columns}, sums, [=](std::size_t row, std::size_t column) {
    return factor_square(f, gradient[row * f.columns + column]);
  });
}
__global__ void factor_columns(Adafactor f, const float* sums, float* columns) {
  if (skipped(f.step)) return;
  each_index(f.columns,
             [=](std::size_t i) { columns[i] = factor_blend(f, columns[i], sums[i] / static_cast<float>(f.rows)); });
}
__global__ void factor_mean(const float* values, std::size_t n, std::size_t over, float* out) {
  each_row(1, [=](std::size_t) {
    float const sum = lane_sum(n, [=](std::size_t i) { return values[i]; });
    lane_once([=] { *out = sum / static_cast<float>(over); });
  });
}
__global__ void factor_lengths(Adafactor f, AdafactorState state, const float* gradient, const float* mean,
                               float* lengths) {
  each_row(f.rows, [=](std::size_t row) {
    const float* const g = gradient + row * f.columns;
    float const sum = lane_sum(f.columns, [=](std::size_t i) {
      float const u = factor_direction(f, state, mean, g[i], row, i);
      return u * u;
    });
    lane_once([=] { lengths[row] = sum; });
  });
}
__global__ void factor_weights(Adafactor f, AdafactorState state, const float* gradient, const float* mean,
                               const float* mean_square, float* weight) {
  if (skipped(f.step)) return;
  each_row(f.rows, [=](std::size_t row) {
    float const length = sqrtf(*mean_square) / f.clip, shorter = length > 1.0f ? 1.0f / length : 1.0f;
    lane_each(f.columns, [=](std::size_t i) {
      std::size_t const at = row * f.columns + i;
      float const u = factor_direction(f, state, mean, gradient[at], row, i) * shorter;
      weight[at] -= f.step.rate * (u + f.step.weight_decay * weight[at]);
    });
  });
}

__global__ void flag_elements(const float* values, std::size_t n, std::int32_t* flag) {
  each_index(n, [=](std::size_t i) {
    if (!(fabsf(values[i]) <= 3.402823466e38f)) *flag = 1;
  });
}

}  // namespace tidemark::kernels
