// SPDX-License-Identifier: Apache-2.0
// What a training begins with: parameters and data, drawn from counters (philox.h). A sample is known by its number
// alone: half a batch holds the first half of the batch's samples.
#pragma once
#include "kernels/launch.h"
#include "kernels/random_stream.h"

namespace tidemark::kernels {

void fill(cudaStream_t stream, float* values, std::size_t n, float value);
// In (-bound, bound).
void fill_uniform(cudaStream_t stream, float* values, std::size_t n, float bound, Stream random);
// Mean 0, deviation `deviation`.
void fill_normal(cudaStream_t stream, float* values, std::size_t n, float deviation, Stream random);

struct Samples {
  std::uint64_t first = 0;  // number of the first sample
  std::size_t count = 0;
  std::uint64_t seed = 0;
};

// Pictures whose class is the frequency of a wave, under noise: found by a fully connected, a convolutional and, with
// rows as moments in time, a recurrent network alike.
struct Picture {
  std::size_t channels = 1, height = 1, width = 1;
  std::size_t classes = 2;
};
void draw_pictures(cudaStream_t stream, Type type, const Samples& samples, const Picture& picture, void* pixels);
void draw_classes(cudaStream_t stream, const Samples& samples, const Picture& picture, std::int32_t* targets);

// Pictures of a disk under noise, and which pixels belong to it.
void draw_disks(cudaStream_t stream, Type type, const Samples& samples, const Picture& picture, void* pixels,
                std::uint8_t* targets);

// Text in which a token follows from the one before, nine times out of ten; or, masked, is the sample's own, three
// times out of four. inputs[s][t]; targets[s][t] is the next token, or, with `masked`, the token itself where it was
// hidden (input 0; every seventh) and -1 elsewhere. targets may be null.
struct Text {
  std::size_t length = 1, vocabulary = 2;
  bool masked = false;
};
void draw_text(cudaStream_t stream, const Samples& samples, const Text& text, std::int32_t* inputs,
               std::int32_t* targets);

}  // namespace tidemark::kernels
