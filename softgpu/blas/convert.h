// SPDX-License-Identifier: Apache-2.0
// Between stored elements and the float that is computed with. Narrowing rounds to nearest, ties to even, and keeps
// NaN; integers saturate.
#pragma once
#include <cstddef>
#include <cstdint>

#include "softgpu/blas/element.h"

namespace tidemark::softgpu::blas {

// Types with a float conversion: fp16, bf16, fp32, int8, int32.
bool converts_to_float(cudaDataType type);
// AVX2 and F16C where the processor has them; the bits are the same without.
enum class Instructions : std::uint8_t { Portable, Vector };
Instructions best_instructions();
void widen(cudaDataType type, const void* source, float* target, std::size_t count,
           Instructions instructions = best_instructions());
void narrow(cudaDataType type, const float* source, void* target, std::size_t count,
            Instructions instructions = best_instructions());

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

}  // namespace tidemark::softgpu::blas
