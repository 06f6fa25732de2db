// SPDX-License-Identifier: Apache-2.0
// Bodies of kernels/generate.h.
#pragma once
#include <cmath>

#include "kernels/divide.h"
#include "kernels/generate.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace tidemark::kernels {

// Purposes of the data's streams; those of layers and parameters begin above (samples/trainer).
enum : std::uint32_t { kClassPurpose = 1, kNoisePurpose = 2, kDiskPurpose = 3, kTextPurpose = 4, kMaskPurpose = 5 };

__global__ void fill_elements(float* values, std::size_t n, float value) {
  each_index(n, [=](std::size_t i) { values[i] = value; });
}
__global__ void uniform_elements(float* values, std::size_t n, float bound, Stream random) {
  each_index(n, [=](std::size_t i) { values[i] = symmetric(random_word(random, i)) * bound; });
}
// Box and Muller's, one of the pair.
TIDEMARK_HD float normal(std::uint32_t first, std::uint32_t second) {
  return sqrtf(-2.0f * logf(unit(first))) * cosf(6.283185307f * unit(second));
}
__global__ void normal_elements(float* values, std::size_t n, float deviation, Stream random) {
  each_index(n, [=](std::size_t i) {
    Random4 const four = random4(random, i);
    values[i] = normal(four.word[0], four.word[1]) * deviation;
  });
}

TIDEMARK_HD std::uint32_t class_of(const Samples& samples, std::size_t classes, std::size_t s) {
  return random_word({.seed = samples.seed, .purpose = kClassPurpose}, samples.first + s) %
         static_cast<std::uint32_t>(classes);
}

__global__ void class_elements(Samples samples, Picture picture, std::int32_t* targets) {
  each_index(samples.count,
             [=](std::size_t s) { targets[s] = static_cast<std::int32_t>(class_of(samples, picture.classes, s)); });
}

// A row is a row of pixels. Four pixels share a call of the generator.
template <class T>
__global__ void picture_rows(Samples samples, Picture picture, T* pixels) {
  std::size_t const rows_of_one = picture.channels * picture.height;
  Stream const noise{.seed = samples.seed, .purpose = kNoisePurpose};
  each_row(samples.count * rows_of_one, [=](std::size_t row) {
    std::size_t const s = row / rows_of_one, channel = row % rows_of_one / picture.height, y = row % picture.height;
    std::uint32_t const c = class_of(samples, picture.classes, s), aside = 1 + c % 4, below = 1 + c / 4;
    float const across = 6.283185307f * static_cast<float>(aside) / static_cast<float>(picture.width);
    float const down = 6.283185307f * static_cast<float>(below) / static_cast<float>(picture.height);
    float const phase = down * static_cast<float>(y) + static_cast<float>(channel);
    std::uint64_t const first = (samples.first + s) * rows_of_one + row % rows_of_one;
    std::size_t const quads = (picture.width + 3) / 4;
    T* const at = pixels + row * picture.width;
    lane_each(quads, [=](std::size_t quad) {
      Random4 const four = random4(noise, first * quads + quad);
      for (std::size_t k = 0; k < 4 && 4 * quad + k < picture.width; ++k)
        at[4 * quad + k] = narrow<T>(sinf(across * static_cast<float>(4 * quad + k) + phase) + symmetric(four.word[k]));
    });
  });
}

template <class T>
__global__ void disk_rows(Samples samples, Picture picture, T* pixels, std::uint8_t* targets) {
  Stream const noise{.seed = samples.seed, .purpose = kNoisePurpose};
  each_row(samples.count * picture.height, [=](std::size_t row) {
    std::size_t const s = row / picture.height, y = row % picture.height;
    std::uint64_t const number = samples.first + s;
    Random4 const place = random4({.seed = samples.seed, .purpose = kDiskPurpose}, number);
    float const radius = (0.15f + 0.2f * unit(place.word[2])) * static_cast<float>(picture.height);
    float const down = static_cast<float>(y) - (0.3f + 0.4f * unit(place.word[0])) * static_cast<float>(picture.height);
    float const centre = (0.3f + 0.4f * unit(place.word[1])) * static_cast<float>(picture.width);
    lane_each(picture.width, [=](std::size_t x) {
      float const aside = static_cast<float>(x) - centre;
      bool const inside = down * down + aside * aside < radius * radius;
      targets[row * picture.width + x] = inside;
      for (std::size_t c = 0; c < picture.channels; ++c) {
        std::size_t const of_sample = (c * picture.height + y) * picture.width + x;
        std::size_t const size = picture.channels * picture.height * picture.width;
        pixels[s * size + of_sample] =
            narrow<T>((inside ? 1.0f : 0.0f) + symmetric(random_word(noise, number * size + of_sample)));
      }
    });
  });
}

TIDEMARK_HD std::uint32_t next_token(std::uint32_t token, Random4 chance, std::uint32_t vocabulary) {
  return unit(chance.word[0]) < 0.9f ? (token * 5u + 7u) % vocabulary : chance.word[1] % vocabulary;
}

// Of masked text three words in four are the sample's own: what is hidden follows from the rest.
TIDEMARK_HD std::uint32_t topic_token(std::uint32_t topic, Random4 chance, std::uint32_t vocabulary) {
  return unit(chance.word[0]) < 0.75f ? topic : chance.word[1] % vocabulary;
}

__global__ void text_samples(Samples samples, Text text, std::int32_t* inputs, std::int32_t* targets) {
  each_index(samples.count, [=](std::size_t s) {
    Stream const words{.seed = samples.seed, .purpose = kTextPurpose};
    Stream const masks{.seed = samples.seed, .purpose = kMaskPurpose};
    auto const vocabulary = static_cast<std::uint32_t>(text.vocabulary);
    std::uint64_t const first = (samples.first + s) * (text.length + 1);
    std::uint32_t const shift = random_word(masks, samples.first + s) % 7;
    std::uint32_t const topic = random4(words, first).word[1] % vocabulary;
    std::uint32_t token = topic;
    for (std::size_t t = 0; t < text.length; ++t) {
      std::size_t const at = s * text.length + t;
      Random4 const chance = random4(words, first + t + 1);
      std::uint32_t const next =
          text.masked ? topic_token(topic, chance, vocabulary) : next_token(token, chance, vocabulary);
      bool const hidden = text.masked && (t + shift) % 7 == 0;
      inputs[at] = hidden ? 0 : static_cast<std::int32_t>(token);
      if (targets != nullptr)
        targets[at] = static_cast<std::int32_t>(text.masked ? (hidden ? token : 0xffffffffu) : next);
      token = next;
    }
  });
}

}  // namespace tidemark::kernels
