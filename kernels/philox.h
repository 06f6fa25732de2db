// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of a counter: Philox4x32 with ten rounds, from the published description (Salmon,
// Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011). What is drawn depends on the seed, the
// purpose and the element's own place, never on what was drawn before: a dropout mask that is computed twice, or for
// half a batch at a time, is the same mask.
#pragma once
#include <cstdint>

#include "kernels/random_stream.h"
#include "softgpu/kernel/portable.h"

namespace tidemark::kernels {

struct Random4 {
  std::uint32_t word[4];
};

TIDEMARK_HD std::uint32_t multiply_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

TIDEMARK_HD Random4 philox(Random4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    std::uint32_t const high0 = multiply_high(0xD2511F53u, counter.word[0]), low0 = 0xD2511F53u * counter.word[0];
    std::uint32_t const high1 = multiply_high(0xCD9E8D57u, counter.word[2]), low1 = 0xCD9E8D57u * counter.word[2];
    counter = {{high1 ^ counter.word[1] ^ key0, low1, high0 ^ counter.word[3] ^ key1, low0}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

TIDEMARK_HD Random4 random4(const Stream& stream, std::uint64_t index) {
  Random4 const counter{
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream.purpose, stream.step}};
  return philox(counter, static_cast<std::uint32_t>(stream.seed), static_cast<std::uint32_t>(stream.seed >> 32));
}

// The i-th number of a stream; four neighbours come from one call, which a caller that needs them all makes itself.
TIDEMARK_HD std::uint32_t random_word(const Stream& stream, std::uint64_t i) {
  return random4(stream, i / 4).word[i % 4];
}
// In (0, 1): 23 bits and a half, which a float holds exactly: never 0 and never 1.
TIDEMARK_HD float unit(std::uint32_t word) {
  return (static_cast<float>(word >> 9) + 0.5f) * 1.1920928955078125e-7f;
}
// In (-1, 1), variance 1/3.
TIDEMARK_HD float symmetric(std::uint32_t word) {
  return 2.0f * unit(word) - 1.0f;
}

}  // namespace tidemark::kernels
