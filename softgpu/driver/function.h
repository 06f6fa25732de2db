// SPDX-License-Identifier: Apache-2.0
// What is known about a kernel's needs.
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// A card's compiler would know; a software device assumes a common number.
inline constexpr int kRegistersPerThread = 32;

// As an SM number: 80 for compute capability 8.0.
int architecture_of(const Profile& profile);
int max_threads(const CUkern_st& kernel);
int static_shared(const CUkern_st& kernel);
int max_dynamic_shared(const CUkern_st& kernel);
// How many blocks of this kernel a multiprocessor holds at a time.
int blocks_per_sm(const CUkern_st& kernel, const Profile& profile, int threads, std::size_t dynamic_bytes);
// Where each parameter lies in one packed buffer.
std::vector<std::uint32_t> packed_offsets(const CUkern_st& kernel);

}  // namespace tidemark::softgpu
