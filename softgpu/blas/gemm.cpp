// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/gemm.h"

#include <algorithm>
#include <memory>

#include "softgpu/blas/openblas.h"
#include "softgpu/interface/device_link.h"

namespace tidemark::softgpu::blas {
namespace {

constexpr std::int64_t kTile = 2048;   // rows and columns of the result
constexpr std::int64_t kDepth = 1024;  // of a product: exact for int8
// What one thread should have to convert before another is woken for the rest: some 10 us, which that costs.
constexpr std::int64_t kGrainElements = 128 * 1024;

// Calls body(j) for all columns, which have about so many elements, on as many threads as OpenBLAS has.
template <class F>
void for_columns(std::int64_t count, std::int64_t elements, const F& body) {
  auto const grain = static_cast<std::uint64_t>(1 + kGrainElements / std::max<std::int64_t>(1, elements));
  device_link()->parallel(
      openblas_threads(), static_cast<std::uint64_t>(count), grain,
      [](void* state, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t j = first; j < last; ++j) (*static_cast<const F*>(state))(static_cast<std::int64_t>(j));
      },
      const_cast<F*>(&body));
}

// Grows to what a thread's largest product needs: kTile x kTile elements for sums, kTile x kDepth for each factor.
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

// A block of op(X) as sgemm reads it, in X's own orientation: sgemm transposes on the way. What is not fp32 is to be
// converted into the buffer, column by column.
class Block {
 public:
  struct Place {
    std::int64_t row, col, rows, cols;
  };
  Block(const Matrix& x, bool transposed, Place place, Scratch<float>& buffer) : x_(x), place_(place) {
    if (transposed) place_ = {place.col, place.row, place.cols, place.rows};
    if (x.type != CUDA_R_32F) converted_ = buffer.get(place_.rows * place_.cols);
  }
  std::int64_t columns_to_convert() const { return converted_ == nullptr ? 0 : place_.cols; }
  std::int64_t elements_to_convert() const { return place_.rows * columns_to_convert(); }
  void convert(std::int64_t j) const {
    widen(x_.type, element(x_, place_.row, place_.col + j), converted_ + j * place_.rows,
          static_cast<std::size_t>(place_.rows));
  }
  const float* data() const {
    return converted_ != nullptr ? converted_ : reinterpret_cast<const float*>(element(x_, place_.row, place_.col));
  }
  blasint ld() const { return static_cast<blasint>(converted_ != nullptr ? place_.rows : x_.ld); }

 private:
  const Matrix& x_;
  Place place_;
  float* converted_ = nullptr;
};

// Both factors at once: threads are woken one time.
void convert(const Block& a, const Block& b) {
  std::int64_t const first = a.columns_to_convert(), count = first + b.columns_to_convert();
  if (count == 0) return;
  for_columns(count, (a.elements_to_convert() + b.elements_to_convert()) / count, [&](std::int64_t j) {
    if (j < first) {
      a.convert(j);
    } else {
      b.convert(j - first);
    }
  });
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
    for (std::int64_t deep = 0; deep < g_.k; deep += kDepth) {
      std::int64_t const depth = std::min(kDepth, g_.k - deep);
      Block const a(g_.a, is_transposed(g_.transa), {row, deep, rows, depth}, scratch.a);
      Block const b(g_.b, is_transposed(g_.transb), {deep, col, depth, cols}, scratch.b);
      convert(a, b);
      float const keep = deep == 0 || integers != nullptr ? 0.0f : 1.0f;
      cblas(routine::gemm<float>(), CblasColMajor, g_.transa, g_.transb, rows, cols, depth, 1.0f, a.data(), a.ld(),
            b.data(), b.ld(), keep, sum, rows);
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
    auto const each_column = [&](auto const& work) {
      for_columns(tile.cols, tile.rows, [&](std::int64_t j) { work(sum + j * tile.ld, j); });
    };
    auto const store = [&](float* column, std::int64_t j) {
      narrow(g_.d.type, column, element_to_write(g_.d, tile.row, tile.col + j), static_cast<std::size_t>(tile.rows));
    };
    auto const scale = [&](float* column, std::int64_t j) { scale_column(column, tile, j); };
    if (hook_.apply == nullptr)
      return each_column([&](float* column, std::int64_t j) {
        scale(column, j);
        store(column, j);
      });
    each_column(scale);
    hook_.apply(hook_.state, tile);
    each_column(store);
  }

  void scale_column(float* column, const Tile& tile, std::int64_t j) const {
    auto const rows = static_cast<std::size_t>(tile.rows);
    if (alpha_ != 1.0f)
      for (std::size_t i = 0; i < rows; ++i) column[i] *= alpha_;
    if (beta_ == 0.0f) return;
    float* const old = scratch.line.get(kTile);
    widen(g_.c.type, element(g_.c, tile.row, tile.col + j), old, rows);
    for (std::size_t i = 0; i < rows; ++i) column[i] += beta_ * old[i];
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
