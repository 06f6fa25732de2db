// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {
namespace {

// f(output index, input index, place in the window) for every pixel of the picture under every window.
template <class F>
void each_pair(const Windows& w, std::size_t planes, F f) {
  auto const size = static_cast<long>(w.size), stride = static_cast<long>(w.stride), pad = static_cast<long>(w.pad);
  for (std::size_t plane = 0; plane < planes; ++plane)
    for (std::size_t r = 0; r < w.out_height; ++r)
      for (std::size_t c = 0; c < w.out_width; ++c)
        for (long dy = 0; dy < size; ++dy)
          for (long dx = 0; dx < size; ++dx) {
            long const y = static_cast<long>(r) * stride + dy - pad, x = static_cast<long>(c) * stride + dx - pad;
            if (y < 0 || x < 0 || y >= static_cast<long>(w.height) || x >= static_cast<long>(w.width)) continue;
            f((plane * w.out_height + r) * w.out_width + c,
              (plane * w.height + static_cast<std::size_t>(y)) * w.width + static_cast<std::size_t>(x),
              static_cast<std::size_t>(dy * size + dx));
          }
}

}  // namespace

Numbers convolve(const Windows& w, std::size_t samples, const Numbers& pixels, const Numbers& weights,
                 std::size_t out_channels) {
  std::size_t const in = w.height * w.width, out = w.out_height * w.out_width, window = w.size * w.size;
  Numbers result(samples * out_channels * out);
  for (std::size_t s = 0; s < samples; ++s)
    for (std::size_t k = 0; k < out_channels; ++k)
      for (std::size_t c = 0; c < w.channels; ++c)
        each_pair(w, 1, [&](std::size_t to, std::size_t from, std::size_t place) {
          result[(s * out_channels + k) * out + to] +=
              pixels[(s * w.channels + c) * in + from] * weights[(k * w.channels + c) * window + place];
        });
  return result;
}

Numbers max_pool(const Windows& w, std::size_t samples, const Numbers& x) {
  Numbers result(samples * w.channels * w.out_height * w.out_width, -std::numeric_limits<double>::infinity());
  each_pair(w, samples * w.channels,
            [&](std::size_t to, std::size_t from, std::size_t) { result[to] = std::max(result[to], x[from]); });
  return result;
}

// Pixel i of n has its middle at i + 1/2; an output's middle lies between two of them.
Numbers upsample(std::size_t planes, std::size_t height, std::size_t width, const Numbers& x) {
  Numbers result(planes * 4 * height * width);
  auto const at = [](double place, std::size_t n) {
    return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(n - 1)));
  };
  for (std::size_t p = 0; p < planes; ++p)
    for (std::size_t r = 0; r < 2 * height; ++r)
      for (std::size_t c = 0; c < 2 * width; ++c) {
        double const y = (static_cast<double>(r) + 0.5) / 2 - 0.5, across = (static_cast<double>(c) + 0.5) / 2 - 0.5;
        double const fy = y - std::floor(y), fx = across - std::floor(across);
        auto const pixel = [&](double dy, double dx) {
          return x[(p * height + at(std::floor(y) + dy, height)) * width + at(std::floor(across) + dx, width)];
        };
        result[(p * 2 * height + r) * 2 * width + c] =
            (1 - fy) * ((1 - fx) * pixel(0, 0) + fx * pixel(0, 1)) + fy * ((1 - fx) * pixel(1, 0) + fx * pixel(1, 1));
      }
  return result;
}

}  // namespace tidemark::kernels::reference
