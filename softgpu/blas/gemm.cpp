// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/gemm.h"

#include <algorithm>
#include <memory>

#include "softgpu/blas/openblas.h"

namespace tidemark::softgpu::blas {
namespace {

constexpr std::int64_t kTile = 1024;

// Grows to what a thread's largest product needs, at most kTile x kTile elements.
template <class T>
class Scratch {
 public:
  T* get(std::int64_t elements) {
    auto const wanted = static_cast<std::size_t>(elements);
    if (wanted > capacity_) {
      data_.reset(new T[wanted]);
      capacity_ = wanted;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t capacity_ = 0;
};

struct ThreadScratch {
  Scratch<float> a, b, sum, line;
  Scratch<std::int32_t> integer_sum;
};
thread_local ThreadScratch scratch;

const std::byte* element(const Matrix& matrix, std::int64_t row, std::int64_t col) {
  auto const index = static_cast<std::size_t>(row + col * matrix.ld);
  return static_cast<const std::byte*>(matrix.data) + index * type_bytes(matrix.type);
}
std::byte* element_to_write(const Matrix& matrix, std::int64_t row, std::int64_t col) {
  return const_cast<std::byte*>(element(matrix, row, col));
}

// All four matrices of one type that OpenBLAS knows.
template <class T>
void compute_directly(const Gemm& g, const TileHook& hook) {
  T const alpha = g.alpha.get<T>(), beta = g.beta.get<T>();
  if (g.d.data != g.c.data && beta != T{})
    for (std::int64_t j = 0; j < g.n; ++j)
      std::memcpy(element_to_write(g.d, 0, j), element(g.c, 0, j), static_cast<std::size_t>(g.m) * sizeof(T));
  cblas(routine::gemm<T>(), CblasColMajor, g.transa, g.transb, g.m, g.n, g.k, alpha, static_cast<const T*>(g.a.data),
        g.a.ld, static_cast<const T*>(g.b.data), g.b.ld, beta, static_cast<T*>(const_cast<void*>(g.d.data)), g.d.ld);
  if (hook.apply != nullptr)
    hook.apply(hook.state, {const_cast<void*>(g.d.data), std::is_same_v<T, double>, g.d.ld, 0, 0, g.m, g.n});
}

// A block of op(X), kept in X's own orientation: sgemm transposes on the way.
struct Block {
  const float* data;
  blasint ld;
};
Block widen_block(const Matrix& x, bool transposed, std::int64_t row, std::int64_t col, std::int64_t rows,
                  std::int64_t cols, Scratch<float>& buffer) {
  if (transposed) {
    std::swap(row, col);
    std::swap(rows, cols);
  }
  if (x.type == CUDA_R_32F) return {reinterpret_cast<const float*>(element(x, row, col)), static_cast<blasint>(x.ld)};
  float* const data = buffer.get(rows * cols);
  for (std::int64_t j = 0; j < cols; ++j)
    widen(x.type, element(x, row, col + j), data + j * rows, static_cast<std::size_t>(rows));
  return {data, static_cast<blasint>(rows)};
}

class TiledGemm {
 public:
  TiledGemm(const Gemm& gemm, const TileHook& hook)
      : g_(gemm), hook_(hook), alpha_(gemm.alpha.get<float>()), beta_(gemm.beta.get<float>()) {}

  void run() {
    for (std::int64_t col = 0; col < g_.n; col += kTile)
      for (std::int64_t row = 0; row < g_.m; row += kTile)
        one_tile(row, col, std::min(kTile, g_.m - row), std::min(kTile, g_.n - col));
  }

 private:
  void one_tile(std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) {
    float* const sum = scratch.sum.get(rows * cols);
    std::int32_t* const integers = g_.integer_sums ? scratch.integer_sum.get(rows * cols) : nullptr;
    if (integers != nullptr) std::fill_n(integers, rows * cols, 0);
    if (g_.k == 0) std::fill_n(sum, rows * cols, 0.0f);
    for (std::int64_t deep = 0; deep < g_.k; deep += kTile) {
      std::int64_t const depth = std::min(kTile, g_.k - deep);
      Block const a = widen_block(g_.a, is_transposed(g_.transa), row, deep, rows, depth, scratch.a);
      Block const b = widen_block(g_.b, is_transposed(g_.transb), deep, col, depth, cols, scratch.b);
      float const keep = deep == 0 || integers != nullptr ? 0.0f : 1.0f;
      cblas(routine::gemm<float>(), CblasColMajor, g_.transa, g_.transb, rows, cols, depth, 1.0f, a.data, a.ld, b.data,
            b.ld, keep, sum, rows);
      if (integers != nullptr) add_integers(sum, integers, rows * cols);
    }
    if (integers == nullptr) return finish({sum, false, rows, row, col, rows, cols});
    if (g_.d.type == CUDA_R_32I) return finish_integers(integers, row, col, rows, cols);
    std::transform(integers, integers + rows * cols, sum, [](std::int32_t v) { return static_cast<float>(v); });
    finish({sum, false, rows, row, col, rows, cols});
  }

  // Integer sums wrap, as 32-bit accumulators do.
  static std::int32_t wrap(std::uint32_t value) { return static_cast<std::int32_t>(value); }
  static void add_integers(const float* part, std::int32_t* total, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      total[i] =
          wrap(static_cast<std::uint32_t>(total[i]) + static_cast<std::uint32_t>(static_cast<std::int32_t>(part[i])));
  }

  void finish(const Tile& tile) {
    auto* const sum = static_cast<float*>(tile.data);
    auto const rows = static_cast<std::size_t>(tile.rows);
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      float* const column = sum + j * tile.ld;
      if (alpha_ != 1.0f)
        for (std::size_t i = 0; i < rows; ++i) column[i] *= alpha_;
      if (beta_ == 0.0f) continue;
      float* const old = scratch.line.get(kTile);
      widen(g_.c.type, element(g_.c, tile.row, tile.col + j), old, rows);
      for (std::size_t i = 0; i < rows; ++i) column[i] += beta_ * old[i];
    }
    if (hook_.apply != nullptr) hook_.apply(hook_.state, tile);
    for (std::int64_t j = 0; j < tile.cols; ++j)
      narrow(g_.d.type, sum + j * tile.ld, element_to_write(g_.d, tile.row, tile.col + j), rows);
  }

  void finish_integers(const std::int32_t* sum, std::int64_t row, std::int64_t col, std::int64_t rows,
                       std::int64_t cols) {
    auto const alpha = static_cast<std::uint32_t>(g_.alpha.get<std::int32_t>());
    auto const beta = static_cast<std::uint32_t>(g_.beta.get<std::int32_t>());
    for (std::int64_t j = 0; j < cols; ++j) {
      auto const* const c = reinterpret_cast<const std::int32_t*>(element(g_.c, row, col + j));
      auto* const d = reinterpret_cast<std::int32_t*>(element_to_write(g_.d, row, col + j));
      for (std::int64_t i = 0; i < rows; ++i) {
        std::uint32_t const product = alpha * static_cast<std::uint32_t>(sum[i + j * rows]);
        d[i] = wrap(beta == 0 ? product : product + beta * static_cast<std::uint32_t>(c[i]));
      }
    }
  }

  const Gemm& g_;
  const TileHook& hook_;
  float alpha_, beta_;
};

}  // namespace

void compute(const Gemm& g, const TileHook& hook) {
  bool const one_type = g.a.type == g.b.type && g.a.type == g.c.type && g.a.type == g.d.type;
  if (one_type && g.a.type == CUDA_R_32F) return compute_directly<float>(g, hook);
  if (one_type && g.a.type == CUDA_R_64F) return compute_directly<double>(g, hook);
  if (one_type && g.a.type == CUDA_C_32F) return compute_directly<Complex32>(g, {});
  if (one_type && g.a.type == CUDA_C_64F) return compute_directly<Complex64>(g, {});
  TiledGemm(g, hook).run();
}

}  // namespace tidemark::softgpu::blas
