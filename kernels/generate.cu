// SPDX-License-Identifier: Apache-2.0
#include "kernels/generate_body.h"
#include "kernels/launch_cuda.h"

namespace tidemark::kernels {

void fill(cudaStream_t stream, float* values, std::size_t n, float value) {
  TIDEMARK_LAUNCH(fill_elements, index_blocks(n), stream, values, n, value);
}
void fill_uniform(cudaStream_t stream, float* values, std::size_t n, float bound, Stream random) {
  TIDEMARK_LAUNCH(uniform_elements, index_blocks(n), stream, values, n, bound, random);
}
void fill_normal(cudaStream_t stream, float* values, std::size_t n, float deviation, Stream random) {
  TIDEMARK_LAUNCH(normal_elements, index_blocks(n), stream, values, n, deviation, random);
}

void draw_pictures(cudaStream_t stream, Type type, const Samples& samples, const Picture& picture, void* pixels) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::size_t const rows = samples.count * picture.channels * picture.height;
    TIDEMARK_LAUNCH(picture_rows<T>, row_blocks(rows), stream, samples, picture, static_cast<T*>(pixels));
  });
}
void draw_classes(cudaStream_t stream, const Samples& samples, const Picture& picture, std::int32_t* targets) {
  TIDEMARK_LAUNCH(class_elements, index_blocks(samples.count), stream, samples, picture, targets);
}
void draw_disks(cudaStream_t stream, Type type, const Samples& samples, const Picture& picture, void* pixels,
                std::uint8_t* targets) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    TIDEMARK_LAUNCH(disk_rows<T>, row_blocks(samples.count * picture.height), stream, samples, picture,
                    static_cast<T*>(pixels), targets);
  });
}
void draw_text(cudaStream_t stream, const Samples& samples, const Text& text, std::int32_t* inputs,
               std::int32_t* targets) {
  TIDEMARK_LAUNCH(text_samples, index_blocks(samples.count), stream, samples, text, inputs, targets);
}

}  // namespace tidemark::kernels
