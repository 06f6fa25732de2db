// SPDX-License-Identifier: Apache-2.0
// The kernels as host code calls them, for files that nvcc does not compile.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace conformance {

// Each launches and gives the launch's error.
cudaError_t launch_fill(std::uint32_t* p, std::uint64_t n, std::uint32_t seed, cudaStream_t stream);
cudaError_t launch_add(std::uint32_t* p, std::uint64_t n, std::uint32_t value, cudaStream_t stream);
cudaError_t launch_copy(std::uint32_t* to, const std::uint32_t* from, std::uint64_t n, cudaStream_t stream);
// Adds to *wrong the number of words that are not what fill(seed) leaves.
cudaError_t launch_count_wrong(const std::uint32_t* p, std::uint64_t n, std::uint32_t seed, std::uint32_t* wrong,
                               cudaStream_t stream);
cudaError_t launch_without_body(std::uint32_t* p);
cudaError_t launch_trap(bool when);
cudaError_t launch_assert(bool when);
cudaError_t launch_store(std::uint32_t* p);
cudaError_t launch_read_symbols(std::uint32_t* out, cudaStream_t stream);
cudaError_t launch_write_symbols(std::uint32_t value, cudaStream_t stream);

// For the calls that take a kernel by its address.
const void* fill_kernel();
const void* fill_bounded_kernel();  // at most 64 threads per block
const void* use_record_kernel();
const void* reverse_kernel();
const void* write_place_kernel();
const void* scale_float_kernel();
const void* scale_u64_kernel();

// For the calls that take a variable by its address.
const void* device_word_symbol();
const void* device_table_symbol();
const void* constant_table_symbol();
const void* untouched_symbol();

// What `fill` writes.
std::uint32_t expected_word(std::uint32_t seed, std::uint64_t i);
// How many words are not what fill(seed) followed by add(plus) leaves; all of them when they cannot be read. The second
// form copies them first, on the legacy default stream.
std::size_t wrong_words(const std::vector<std::uint32_t>& words, std::uint32_t seed, std::uint32_t plus = 0);
std::size_t wrong_on_device(const std::uint32_t* device, std::size_t n, std::uint32_t seed, std::uint32_t plus = 0);

}  // namespace conformance
