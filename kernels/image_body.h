// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/image.h. A row of the division is a row of pixels.
#pragma once
#include "kernels/divide.h"
#include "kernels/image.h"
#include "kernels/number.h"

namespace tidemark::kernels {

struct Range {
  std::size_t first = 0, last = 0;
};
// The output columns whose window's dx-th pixel lies inside of the picture.
TIDEMARK_HD Range columns_inside(const Windows& w, std::size_t dx) {
  std::size_t const first = dx >= w.pad ? 0 : (w.pad - dx + w.stride - 1) / w.stride;
  std::size_t const reach = w.width + w.pad;  // the pixel is column * stride + dx - pad < width
  std::size_t const last = reach > dx ? (reach - dx + w.stride - 1) / w.stride : 0;
  std::size_t const end = last < w.out_width ? last : w.out_width;
  return {first < end ? first : end, end};
}

// One element of the windows, of one sample: a picture of its own, moved by (dy, dx).
template <class T>
__global__ void window_columns(Windows w, WindowTile tile, const T* pixels, T* columns) {
  std::size_t const elements = w.channels * w.size * w.size;
  each_row(tile.samples * elements, [=](std::size_t row) {
    std::size_t const e = row % elements, s = row / elements;
    std::size_t const dx = e % w.size, dy = e / w.size % w.size, c = e / w.size / w.size;
    Range const in = columns_inside(w, dx);
    std::size_t const n = in.last - in.first, stride = w.stride, first = in.first * stride + dx - w.pad;
    const T* const plane = pixels + (s * w.channels + c) * w.height * w.width;
    for (std::size_t r = 0; r < tile.rows; ++r) {
      T* const to = columns + (row * tile.rows + r) * w.out_width;
      std::size_t const y = (tile.first_row + r) * stride + dy;
      if (y < w.pad || y >= w.height + w.pad || n == 0) {
        lane_each(w.out_width, [=](std::size_t i) { to[i] = narrow<T>(0.0f); });
        continue;
      }
      const T* const from = plane + (y - w.pad) * w.width + first;
      T* const at = to + in.first;
      lane_each(in.first, [=](std::size_t i) { to[i] = narrow<T>(0.0f); });
      if (stride == 1)
        lane_each(n, [=](std::size_t i) { at[i] = from[i]; });
      else
        lane_each(n, [=](std::size_t i) { at[i] = from[i * stride]; });
      lane_each(w.out_width - in.last, [=](std::size_t i) { to[in.last + i] = narrow<T>(0.0f); });
    }
  });
}

// One window row dy and pixel dx after the other, each adding to the pixels it covers. In 16 bits a sum needs its own
// float, so there a pixel gathers; the order of the additions is the same.
template <class T>
__device__ __forceinline__ void add_columns(const Windows& w, const WindowTile& tile, const T* columns, T* to,
                                            std::size_t s, std::size_t c, std::size_t y) {
  std::size_t const plane = tile.rows * w.out_width;
  lane_each(w.width, [=](std::size_t x) {
    float sum = tile.first_row == 0 ? 0.0f : widen(to[x]);
    for (std::size_t dy = 0; dy < w.size; ++dy) {
      std::size_t const down = y + w.pad - dy;
      if (y + w.pad < dy || down % w.stride != 0) continue;
      std::size_t const row = down / w.stride;
      if (row < tile.first_row || row >= tile.first_row + tile.rows) continue;
      for (std::size_t dx = 0; dx < w.size; ++dx) {
        std::size_t const aside = x + w.pad - dx;
        if (x + w.pad < dx || aside % w.stride != 0 || aside / w.stride >= w.out_width) continue;
        std::size_t const e = (c * w.size + dy) * w.size + dx;
        sum += widen(columns[(s * w.channels * w.size * w.size + e) * plane + (row - tile.first_row) * w.out_width +
                             aside / w.stride]);
      }
    }
    to[x] = narrow<T>(sum);
  });
}
template <>
__device__ __forceinline__ void add_columns<float>(const Windows& w, const WindowTile& tile, const float* columns,
                                                   float* to, std::size_t s, std::size_t c, std::size_t y) {
  std::size_t const plane = tile.rows * w.out_width;
  if (tile.first_row == 0) lane_each(w.width, [=](std::size_t x) { to[x] = 0.0f; });
  lane_sync();
  for (std::size_t dy = 0; dy < w.size; ++dy) {
    std::size_t const down = y + w.pad - dy;
    if (y + w.pad < dy || down % w.stride != 0) continue;
    std::size_t const row = down / w.stride;
    if (row < tile.first_row || row >= tile.first_row + tile.rows) continue;
    for (std::size_t dx = 0; dx < w.size; ++dx) {
      std::size_t const e = (c * w.size + dy) * w.size + dx;
      Range const in = columns_inside(w, dx);
      if (in.last <= in.first) continue;
      const float* const from =
          columns + (s * w.channels * w.size * w.size + e) * plane + (row - tile.first_row) * w.out_width + in.first;
      float* const at = to + (in.first * w.stride + dx - w.pad);
      std::size_t const stride = w.stride;
      if (stride == 1)
        lane_each(in.last - in.first, [=](std::size_t i) { at[i] += from[i]; });
      else
        lane_each(in.last - in.first, [=](std::size_t i) { at[i * stride] += from[i]; });
      lane_sync();
    }
  }
}
template <class T>
__global__ void column_windows(Windows w, WindowTile tile, const T* columns, T* pixels) {
  each_row(tile.samples * w.channels * w.height, [=](std::size_t row) {
    std::size_t const y = row % w.height, c = row / w.height % w.channels, s = row / w.height / w.channels;
    add_columns<T>(w, tile, columns, pixels + row * w.width, s, c, y);
  });
}

template <class T>
__global__ void max_pool_rows(Windows w, std::size_t samples, const T* x, T* y, std::int32_t* which) {
  each_row(samples * w.channels * w.out_height, [=](std::size_t row) {
    std::size_t const plane = row / w.out_height, r = row % w.out_height;
    const T* const from = x + plane * w.height * w.width;
    lane_each(w.out_width, [=](std::size_t column) {
      float best = Max::start();
      std::size_t place = 0;
      bool any = false;
      for (std::size_t dy = 0; dy < w.size; ++dy) {
        std::size_t const down = r * w.stride + dy;
        if (down < w.pad || down >= w.height + w.pad) continue;
        for (std::size_t dx = 0; dx < w.size; ++dx) {
          std::size_t const aside = column * w.stride + dx;
          if (aside < w.pad || aside >= w.width + w.pad) continue;
          std::size_t const at = (down - w.pad) * w.width + aside - w.pad;
          float const value = widen(from[at]);
          if (any && !(value > best)) continue;
          best = value;
          place = at;
          any = true;
        }
      }
      y[row * w.out_width + column] = narrow<T>(best);
      which[row * w.out_width + column] = static_cast<std::int32_t>(place);
    });
  });
}
template <class T>
__global__ void max_pool_gradients(Windows w, std::size_t samples, const std::int32_t* which, const T* dy, T* dx) {
  each_row(samples * w.channels * w.height, [=](std::size_t row) {
    std::size_t const plane = row / w.height, y = row % w.height;
    std::size_t const outputs = plane * w.out_height * w.out_width;
    std::size_t const reach = y + w.pad + 1, low = reach > w.size ? (reach - w.size + w.stride - 1) / w.stride : 0;
    lane_each(w.width, [=](std::size_t x) {
      float sum = 0.0f;
      std::size_t const across = x + w.pad + 1;
      std::size_t const left = across > w.size ? (across - w.size + w.stride - 1) / w.stride : 0;
      for (std::size_t r = low; r < w.out_height && r * w.stride <= y + w.pad; ++r)
        for (std::size_t c = left; c < w.out_width && c * w.stride <= x + w.pad; ++c) {
          std::size_t const at = outputs + r * w.out_width + c;
          if (which[at] == static_cast<std::int32_t>(y * w.width + x)) sum += widen(dy[at]);
        }
      dx[row * w.width + x] = narrow<T>(sum);
    });
  });
}

template <class T>
__global__ void plane_means(std::size_t planes, std::size_t pixels, const T* x, T* y) {
  each_row(planes, [=](std::size_t plane) {
    const T* const from = x + plane * pixels;
    float const sum = lane_sum(pixels, [=](std::size_t i) { return widen(from[i]); });
    lane_once([=] { y[plane] = narrow<T>(sum / static_cast<float>(pixels)); });
  });
}
template <class T>
__global__ void plane_mean_gradients(std::size_t planes, std::size_t pixels, const T* dy, T* dx) {
  each_row(planes, [=](std::size_t plane) {
    float const share = widen(dy[plane]) / static_cast<float>(pixels);
    T* const to = dx + plane * pixels;
    lane_each(pixels, [=](std::size_t i) { to[i] = narrow<T>(share); });
  });
}

// Of output i along one axis of n pixels: the nearer pixel i / 2 counts 3/4, the one beyond it 1/4.
TIDEMARK_HD std::size_t farther(std::size_t i, std::size_t n) {
  std::size_t const near = i / 2;
  if (i % 2 == 0) return near == 0 ? 0 : near - 1;
  return near + 1 < n ? near + 1 : near;
}
template <class T>
__global__ void upsample_rows(std::size_t planes, std::size_t height, std::size_t width, const T* x, T* y) {
  each_row(planes * 2 * height, [=](std::size_t row) {
    std::size_t const r = row % (2 * height);
    const T* const plane = x + row / (2 * height) * height * width;
    const T *const near = plane + r / 2 * width, *const far = plane + farther(r, height) * width;
    T* const to = y + row * 2 * width;
    lane_each(2 * width, [=](std::size_t i) {
      std::size_t const a = i / 2, b = farther(i, width);
      float const here = 0.75f * widen(near[a]) + 0.25f * widen(near[b]);
      float const there = 0.75f * widen(far[a]) + 0.25f * widen(far[b]);
      to[i] = narrow<T>(0.75f * here + 0.25f * there);
    });
  });
}
// What outputs 2i - 1 .. 2i + 2 have of pixel i; repeated edges count once more.
TIDEMARK_HD float share_of(std::size_t pixel, std::size_t output, std::size_t n) {
  return (output / 2 == pixel ? 0.75f : 0.0f) + (farther(output, n) == pixel ? 0.25f : 0.0f);
}
template <class T>
__global__ void upsample_gradients(std::size_t planes, std::size_t height, std::size_t width, const T* dy, T* dx) {
  each_row(planes * height, [=](std::size_t row) {
    std::size_t const y = row % height;
    const T* const plane = dy + row / height * 4 * height * width;
    lane_each(width, [=](std::size_t x) {
      float sum = 0.0f;
      for (std::size_t r = y == 0 ? 0 : 2 * y - 1; r < 2 * height && r <= 2 * y + 2; ++r)
        for (std::size_t c = x == 0 ? 0 : 2 * x - 1; c < 2 * width && c <= 2 * x + 2; ++c)
          sum += share_of(y, r, height) * share_of(x, c, width) * widen(plane[r * 2 * width + c]);
      dx[row * width + x] = narrow<T>(sum);
    });
  });
}

template <class T>
__global__ void shortcut_rows(Shortcut s, std::size_t samples, std::size_t rows, std::size_t columns, const T* x,
                              T* y) {
  std::size_t const before = (s.out_channels - s.channels) / 2;
  each_row(samples * s.out_channels * rows, [=](std::size_t row) {
    std::size_t const r = row % rows, c = row / rows % s.out_channels, sample = row / rows / s.out_channels;
    bool const zero = c < before || c >= before + s.channels;
    const T* const from = zero ? x : x + ((sample * s.channels + c - before) * s.height + r * s.stride) * s.width;
    T* const to = y + row * columns;
    lane_each(columns, [=](std::size_t i) { to[i] = zero ? narrow<T>(0.0f) : from[i * s.stride]; });
  });
}
template <class T>
__global__ void shortcut_gradients(Shortcut s, std::size_t samples, std::size_t rows, std::size_t columns, const T* dy,
                                   T* dx) {
  std::size_t const before = (s.out_channels - s.channels) / 2;
  each_row(samples * s.channels * s.height, [=](std::size_t row) {
    std::size_t const y = row % s.height, c = row / s.height % s.channels, sample = row / s.height / s.channels;
    const T* const from = dy + ((sample * s.out_channels + before + c) * rows + y / s.stride) * columns;
    T* const to = dx + row * s.width;
    lane_each(s.width, [=](std::size_t x) {
      to[x] = y % s.stride == 0 && x % s.stride == 0 ? from[x / s.stride] : narrow<T>(0.0f);
    });
  });
}

}  // namespace tidemark::kernels
