// SPDX-License-Identifier: Apache-2.0
// How the kernels divide their work: the index that nvcc's threads and the software device's loops supply to one body.
//
//   each_index(n, f)           f(i) for n elements; a block takes kSpan neighbours
//   each_row(rows, f)          f(row) by a warp per row, inside which:
//     lane_each(n, f)            f(i) for the row's elements
//     lane_sum(n, f)             the sum of f(i), the same on every lane
//     lane_max(n, f)
//   sum_columns(shape, ...)    sums down the columns of a matrix, a lane per column
//
// On a GPU neighbouring lanes take neighbouring elements. On the CPU the block's first thread does it all, in loops
// that the compiler turns into vectors; no kernel has a barrier. Sums have one order on both: 32 strided partial sums,
// then halving. So a value depends neither on the device nor on how many threads it has (only nvcc's fused
// multiply-adds and the two mathematical libraries differ).
#pragma once
#include <cstddef>

#include "softgpu/kernel/portable.h"

namespace tidemark::kernels {

inline constexpr unsigned kThreads = 256;
inline constexpr std::size_t kSpan = 4096;  // elements of a block
inline constexpr std::size_t kLanes = 32;
inline constexpr std::size_t kRowsPerBlock = kThreads / kLanes;
inline constexpr std::size_t kColumnsPerBlock = kThreads;

template <class F>
__device__ __forceinline__ void each_index(std::size_t n, F f) {
  std::size_t const first = static_cast<std::size_t>(blockIdx.x) * kSpan;
  std::size_t const last = first + kSpan < n ? first + kSpan : n;
#if defined(__CUDACC__)
  for (std::size_t i = first + threadIdx.x; i < last; i += kThreads) f(i);
#else
  if (threadIdx.x != 0) return;
  for (std::size_t i = first; i < last; ++i) f(i);
#endif
}

template <class F>
__device__ __forceinline__ void each_row(std::size_t rows, F f) {
  std::size_t const first = static_cast<std::size_t>(blockIdx.x) * kRowsPerBlock;
#if defined(__CUDACC__)
  std::size_t const row = first + threadIdx.x / kLanes;
  if (row < rows) f(row);
#else
  if (threadIdx.x != 0) return;
  std::size_t const last = first + kRowsPerBlock < rows ? first + kRowsPerBlock : rows;
  for (std::size_t row = first; row < last; ++row) f(row);
#endif
}

template <class F>
__device__ __forceinline__ void lane_each(std::size_t n, F f) {
#if defined(__CUDACC__)
  for (std::size_t i = threadIdx.x % kLanes; i < n; i += kLanes) f(i);
#else
  for (std::size_t i = 0; i < n; ++i) f(i);
#endif
}

// Once per row, by one lane.
template <class F>
__device__ __forceinline__ void lane_once(F f) {
#if defined(__CUDACC__)
  if (threadIdx.x % kLanes == 0) f();
#else
  f();
#endif
}

// What other lanes of the row have written is seen after this.
__device__ __forceinline__ void lane_sync() {
#if defined(__CUDACC__)
  __syncwarp();
#endif
}

struct Add {
  TIDEMARK_HD float operator()(float a, float b) const { return a + b; }
  TIDEMARK_HD static float start() { return 0.0f; }
};
struct Max {
  TIDEMARK_HD float operator()(float a, float b) const { return a > b ? a : b; }
  TIDEMARK_HD static float start() { return -3.402823466e38f; }
};

template <class Combine, class F>
__device__ __forceinline__ float lane_reduce(std::size_t n, F f) {
  Combine const combine;
#if defined(__CUDACC__)
  float part = Combine::start();
  for (std::size_t i = threadIdx.x % kLanes; i < n; i += kLanes) part = combine(part, f(i));
  for (int far = static_cast<int>(kLanes) / 2; far > 0; far /= 2)
    part = combine(part, __shfl_xor_sync(0xffffffffu, part, far));
  return part;
#else
  float part[kLanes];
  for (float& p : part) p = Combine::start();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) part[lane] = combine(part[lane], f(i + lane));
  for (std::size_t lane = 0; i + lane < n; ++lane) part[lane] = combine(part[lane], f(i + lane));
  for (std::size_t far = kLanes / 2; far > 0; far /= 2)
    for (std::size_t lane = 0; lane < far; ++lane) part[lane] = combine(part[lane], part[lane + far]);
  return part[0];
#endif
}
template <class F>
__device__ __forceinline__ float lane_sum(std::size_t n, F f) {
  return lane_reduce<Add>(n, f);
}
template <class F>
__device__ __forceinline__ float lane_max(std::size_t n, F f) {
  return lane_reduce<Max>(n, f);
}

// Rows are summed in chunks, ascending; each chunk's sum is added to what is there. Two halves of the rows, one after
// the other, give the very bits of all rows at once, as long as a chunk does not straddle them.
struct ColumnSums {
  std::size_t rows = 0, columns = 0;
  std::size_t chunk = 0;  // rows; 0: all of them
  bool accumulate = false;
};
template <class F>
__device__ __forceinline__ void sum_columns(const ColumnSums& s, float* out, F f) {
  std::size_t const chunk = s.chunk == 0 ? s.rows : s.chunk;
  std::size_t const block = static_cast<std::size_t>(blockIdx.x) * kColumnsPerBlock;
#if defined(__CUDACC__)
  std::size_t const column = block + threadIdx.x;
  if (column >= s.columns) return;
  float total = s.accumulate ? out[column] : 0.0f;
  for (std::size_t first = 0; first < s.rows; first += chunk) {
    float part = 0.0f;
    for (std::size_t row = first; row < s.rows && row < first + chunk; ++row) part += f(row, column);
    total += part;
  }
  out[column] = total;
#else
  if (threadIdx.x != 0) return;
  for (std::size_t tile = block; tile < s.columns && tile < block + kColumnsPerBlock; tile += kLanes) {
    std::size_t const width = s.columns - tile < kLanes ? s.columns - tile : kLanes;
    float total[kLanes], part[kLanes];
    for (std::size_t lane = 0; lane < width; ++lane) total[lane] = s.accumulate ? out[tile + lane] : 0.0f;
    for (std::size_t first = 0; first < s.rows; first += chunk) {
      for (std::size_t lane = 0; lane < width; ++lane) part[lane] = 0.0f;
      for (std::size_t row = first; row < s.rows && row < first + chunk; ++row)
        for (std::size_t lane = 0; lane < width; ++lane) part[lane] += f(row, tile + lane);
      for (std::size_t lane = 0; lane < width; ++lane) total[lane] += part[lane];
    }
    for (std::size_t lane = 0; lane < width; ++lane) out[tile + lane] = total[lane];
  }
#endif
}

}  // namespace tidemark::kernels
