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

__global__ void flag_elements(const float* values, std::size_t n, std::int32_t* flag) {
  each_index(n, [=](std::size_t i) {
    if (!(fabsf(values[i]) <= 3.402823466e38f)) *flag = 1;
  });
}

}  // namespace tidemark::kernels
