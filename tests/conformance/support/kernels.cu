// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/support/kernels.h"
#include "tests/conformance/support/kernels_body.h"

namespace conformance {
namespace {

constexpr unsigned kThreads = 128;

unsigned blocks_for(std::uint64_t n) {
  return static_cast<unsigned>((n + kThreads - 1) / kThreads);
}

template <class F>
const void* as_pointer(F* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

cudaError_t launch_fill(std::uint32_t* p, std::uint64_t n, std::uint32_t seed, cudaStream_t stream) {
  fill<<<blocks_for(n), kThreads, 0, stream>>>(p, n, seed);
  return cudaGetLastError();
}
cudaError_t launch_add(std::uint32_t* p, std::uint64_t n, std::uint32_t value, cudaStream_t stream) {
  add<<<blocks_for(n), kThreads, 0, stream>>>(p, n, value);
  return cudaGetLastError();
}
cudaError_t launch_copy(std::uint32_t* to, const std::uint32_t* from, std::uint64_t n, cudaStream_t stream) {
  copy_words<<<blocks_for(n), kThreads, 0, stream>>>(to, from, n);
  return cudaGetLastError();
}
cudaError_t launch_count_wrong(const std::uint32_t* p, std::uint64_t n, std::uint32_t seed, std::uint32_t* wrong,
                               cudaStream_t stream) {
  count_wrong<<<blocks_for(n), kThreads, 0, stream>>>(p, n, seed, wrong);
  return cudaGetLastError();
}
cudaError_t launch_without_body(std::uint32_t* p) {
  without_body<<<1, 1>>>(p);
  return cudaGetLastError();
}
cudaError_t launch_trap(bool when) {
  trap_when<<<1, 1>>>(when);
  return cudaGetLastError();
}
cudaError_t launch_assert(bool when) {
  assert_when<<<1, 1>>>(when);
  return cudaGetLastError();
}
cudaError_t launch_store(std::uint32_t* p) {
  store_to<<<1, 1>>>(p);
  return cudaGetLastError();
}
cudaError_t launch_read_symbols(std::uint32_t* out, cudaStream_t stream) {
  read_symbols<<<1, 32, 0, stream>>>(out);
  return cudaGetLastError();
}
cudaError_t launch_write_symbols(std::uint32_t value, cudaStream_t stream) {
  write_symbols<<<1, 32, 0, stream>>>(value);
  return cudaGetLastError();
}

const void* fill_kernel() {
  return as_pointer(&fill);
}
const void* fill_bounded_kernel() {
  return as_pointer(&fill_bounded);
}
const void* use_record_kernel() {
  return as_pointer(&use_record);
}
const void* reverse_kernel() {
  return as_pointer(&reverse_blocks);
}
const void* write_place_kernel() {
  return as_pointer(&write_place);
}
const void* scale_float_kernel() {
  return as_pointer(&scale<float>);
}
const void* scale_u64_kernel() {
  return as_pointer(&scale<std::uint64_t>);
}

const void* device_word_symbol() {
  return &device_word;
}
const void* device_table_symbol() {
  return device_table;
}
const void* constant_table_symbol() {
  return constant_table;
}
const void* untouched_symbol() {
  return untouched;
}

std::uint32_t expected_word(std::uint32_t seed, std::uint64_t i) {
  return pattern(seed, i);
}

std::size_t wrong_words(const std::vector<std::uint32_t>& words, std::uint32_t seed, std::uint32_t plus) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) wrong += words[i] != pattern(seed, i) + plus;
  return wrong;
}

std::size_t wrong_on_device(const std::uint32_t* device, std::size_t n, std::uint32_t seed, std::uint32_t plus) {
  std::vector<std::uint32_t> host(n);
  cudaError_t const error = cudaMemcpy(host.data(), device, n * sizeof(std::uint32_t), cudaMemcpyDeviceToHost);
  return error == cudaSuccess ? wrong_words(host, seed, plus) : n;
}

}  // namespace conformance
