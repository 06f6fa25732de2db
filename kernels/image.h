// SPDX-License-Identifier: Apache-2.0
// Kernels on images [sample][channel][row][column]: windows of convolutions as matrices, pooling, changes of size.
// Where several outputs meet in one input's gradient, the input gathers them in a fixed order; nothing is added
// atomically.
#pragma once
#include "kernels/launch.h"

namespace tidemark::kernels {

// How windows of height x width pixels move over a picture, and how many of them there are.
struct Windows {
  std::size_t channels = 0, height = 0, width = 0;
  std::size_t size = 1, stride = 1, pad = 0;
  std::size_t out_height = 0, out_width = 0;
  std::size_t elements() const { return channels * size * size; }  // of one window
};
// Of `samples` pictures the output rows [first_row, first_row + rows).
struct WindowTile {
  std::size_t samples = 0, first_row = 0, rows = 0;
};
// columns[s][c, dy, dx][row, column]: the pixels under each window, 0 outside of the picture.
void windows_to_columns(cudaStream_t stream, Type type, const Windows& windows, const WindowTile& tile,
                        const void* pixels, void* columns);
// The opposite sum: each pixel gains what stands for it in the columns. A tile that does not begin at row 0 adds to
// what is there.
void columns_to_windows(cudaStream_t stream, Type type, const Windows& windows, const WindowTile& tile,
                        const void* columns, void* pixels);

// which[i]: the largest pixel's place in its channel's plane, the first of equals.
void max_pool_forward(cudaStream_t stream, Type type, const Windows& windows, std::size_t samples, const void* x,
                      void* y, std::int32_t* which);
void max_pool_backward(cudaStream_t stream, Type type, const Windows& windows, std::size_t samples,
                       const std::int32_t* which, const void* dy, void* dx);

// The mean of each plane, and its gradient.
void mean_of_planes(cudaStream_t stream, Type type, std::size_t planes, std::size_t pixels, const void* x, void* y);
void mean_of_planes_backward(cudaStream_t stream, Type type, std::size_t planes, std::size_t pixels, const void* dy,
                             void* dx);

// To twice the height and width, bilinear: (1, 3) / 4 of the nearest pixels, edges repeated.
void upsample_forward(cudaStream_t stream, Type type, std::size_t planes, std::size_t height, std::size_t width,
                      const void* x, void* y);
void upsample_backward(cudaStream_t stream, Type type, std::size_t planes, std::size_t height, std::size_t width,
                       const void* dy, void* dx);

// Every stride-th pixel, with channels of zeros before and after: a shortcut without parameters.
struct Shortcut {
  std::size_t channels = 0, height = 0, width = 0;
  std::size_t out_channels = 0, stride = 1;
  std::size_t out_height() const { return (height + stride - 1) / stride; }
  std::size_t out_width() const { return (width + stride - 1) / stride; }
};
void shortcut_forward(cudaStream_t stream, Type type, const Shortcut& shortcut, std::size_t samples, const void* x,
                      void* y);
void shortcut_backward(cudaStream_t stream, Type type, const Shortcut& shortcut, std::size_t samples, const void* dy,
                       void* dx);

}  // namespace tidemark::kernels
