// SPDX-License-Identifier: Apache-2.0
#include "kernels/image_body.h"
#include "kernels/launch_cuda.h"

namespace tidemark::kernels {

void windows_to_columns(cudaStream_t stream, Type type, const Windows& windows, const WindowTile& tile,
                        const void* pixels, void* columns) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(window_columns<T>, row_blocks(tile.samples * windows.elements()), stream, windows, tile,
                    static_cast<const T*>(pixels), static_cast<T*>(columns));
  });
}
void columns_to_windows(cudaStream_t stream, Type type, const Windows& windows, const WindowTile& tile,
                        const void* columns, void* pixels) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(column_windows<T>, row_blocks(tile.samples * windows.channels * windows.height), stream, windows,
                    tile, static_cast<const T*>(columns), static_cast<T*>(pixels));
  });
}

void max_pool_forward(cudaStream_t stream, Type type, const Windows& windows, std::size_t samples, const void* x,
                      void* y, std::int32_t* which) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(max_pool_rows<T>, row_blocks(samples * windows.channels * windows.out_height), stream, windows,
                    samples, static_cast<const T*>(x), static_cast<T*>(y), which);
  });
}
void max_pool_backward(cudaStream_t stream, Type type, const Windows& windows, std::size_t samples,
                       const std::int32_t* which, const void* dy, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(max_pool_gradients<T>, row_blocks(samples * windows.channels * windows.height), stream, windows,
                    samples, which, static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

void mean_of_planes(cudaStream_t stream, Type type, std::size_t planes, std::size_t pixels, const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(plane_means<T>, row_blocks(planes), stream, planes, pixels, static_cast<const T*>(x),
                    static_cast<T*>(y));
  });
}
void mean_of_planes_backward(cudaStream_t stream, Type type, std::size_t planes, std::size_t pixels, const void* dy,
                             void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(plane_mean_gradients<T>, row_blocks(planes), stream, planes, pixels, static_cast<const T*>(dy),
                    static_cast<T*>(dx));
  });
}

void upsample_forward(cudaStream_t stream, Type type, std::size_t planes, std::size_t height, std::size_t width,
                      const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(upsample_rows<T>, row_blocks(planes * 2 * height), stream, planes, height, width,
                    static_cast<const T*>(x), static_cast<T*>(y));
  });
}
void upsample_backward(cudaStream_t stream, Type type, std::size_t planes, std::size_t height, std::size_t width,
                       const void* dy, void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(upsample_gradients<T>, row_blocks(planes * height), stream, planes, height, width,
                    static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

void shortcut_forward(cudaStream_t stream, Type type, const Shortcut& s, std::size_t samples, const void* x, void* y) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(shortcut_rows<T>, row_blocks(samples * s.out_channels * s.out_height()), stream, s, samples,
                    s.out_height(), s.out_width(), static_cast<const T*>(x), static_cast<T*>(y));
  });
}
void shortcut_backward(cudaStream_t stream, Type type, const Shortcut& s, std::size_t samples, const void* dy,
                       void* dx) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(shortcut_gradients<T>, row_blocks(samples * s.channels * s.height), stream, s, samples,
                    s.out_height(), s.out_width(), static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace tidemark::kernels
