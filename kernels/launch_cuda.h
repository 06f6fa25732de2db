// SPDX-License-Identifier: Apache-2.0
// For the .cu files alone: grids for the ways of kernels/divide.h, and one function per element type.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/divide.h"
#include "kernels/launch.h"

namespace tidemark::kernels {

inline unsigned blocks_for(std::size_t n, std::size_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}
inline unsigned index_blocks(std::size_t n) {
  return blocks_for(n, kSpan);
}
inline unsigned row_blocks(std::size_t rows) {
  return blocks_for(rows, kRowsPerBlock);
}
inline unsigned column_blocks(std::size_t columns) {
  return blocks_for(columns, kColumnsPerBlock);
}

inline void check_launch(const char* file, int line) {
  cudaError_t const error = cudaGetLastError();
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s (%s)\n", file, line, cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(1);
}

// f(T{}) for the type's own T.
template <class F>
void with_type(Type type, F f) {
  switch (type) {
    case Type::F32: f(float{}); break;
    case Type::F16: f(__half{}); break;
    case Type::BF16: f(__nv_bfloat16{}); break;
  }
}

}  // namespace tidemark::kernels

// TIDEMARK_LAUNCH(relu<T>, row_blocks(n), stream, x, y, n): nothing to do is not an error, as a grid of 0 would be.
#define TIDEMARK_LAUNCH(kernel, blocks, stream, ...)                                      \
  do {                                                                                    \
    unsigned const tidemark_blocks = (blocks);                                            \
    if (tidemark_blocks == 0) break;                                                      \
    kernel<<<tidemark_blocks, ::tidemark::kernels::kThreads, 0, (stream)>>>(__VA_ARGS__); \
    ::tidemark::kernels::check_launch(__FILE__, __LINE__);                                \
  } while (false)
