// SPDX-License-Identifier: Apache-2.0
// Matrices with structure against plain loops on the full matrix they stand for.
#include <functional>

#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

constexpr int N = 9, LD = 11, K = 4;

template <class T>
constexpr bool kComplex = std::is_same_v<T, C32> || std::is_same_v<T, C64>;

// A dense matrix by (row, column).
template <class T>
struct Dense {
  int rows, cols;
  std::vector<T> data;
  Dense(int r, int c) : rows(r), cols(c), data(static_cast<std::size_t>(r * c)) {}
  T& operator()(int i, int j) { return data[static_cast<std::size_t>(i + j * rows)]; }
  const T& operator()(int i, int j) const { return data[static_cast<std::size_t>(i + j * rows)]; }
};
template <class T>
Dense<T> from(const std::vector<T>& a, int ld, int rows, int cols) {
  Dense<T> out(rows, cols);
  for (int j = 0; j < cols; ++j)
    for (int i = 0; i < rows; ++i) out(i, j) = a[static_cast<std::size_t>(i + j * ld)];
  return out;
}
template <class T>
Dense<T> op(cublasOperation_t o, const Dense<T>& a) {
  if (o == CUBLAS_OP_N) return a;
  Dense<T> out(a.cols, a.rows);
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i) out(j, i) = o == CUBLAS_OP_C ? conjugate(a(i, j)) : a(i, j);
  return out;
}
template <class T>
Dense<T> operator*(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> out(a.rows, b.cols);
  for (int j = 0; j < b.cols; ++j)
    for (int i = 0; i < a.rows; ++i)
      for (int p = 0; p < a.cols; ++p) out(i, j) += a(i, p) * b(p, j);
  return out;
}
bool stored(cublasFillMode_t uplo, int i, int j) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

// The full matrix behind one stored triangle.
template <class T>
Dense<T> symmetric(cublasFillMode_t uplo, const Dense<T>& a, bool hermitian) {
  Dense<T> out(a.rows, a.rows);
  for (int j = 0; j < a.rows; ++j)
    for (int i = 0; i < a.rows; ++i) {
      T const mirrored = hermitian ? conjugate(a(j, i)) : a(j, i);
      out(i, j) = stored(uplo, i, j) ? a(i, j) : mirrored;
      if (hermitian && i == j) out(i, j) = std::real(out(i, j));
    }
  return out;
}
template <class T>
Dense<T> triangle(cublasFillMode_t uplo, cublasDiagType_t diag, const Dense<T>& a) {
  Dense<T> out(a.rows, a.rows);
  for (int j = 0; j < a.rows; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (stored(uplo, i, j)) out(i, j) = i == j && diag == CUBLAS_DIAG_UNIT ? T(1) : a(i, j);
  return out;
}
template <class T>
std::vector<T> packed(cublasFillMode_t uplo, const Dense<T>& a) {
  std::vector<T> out;
  for (int j = 0; j < a.rows; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (stored(uplo, i, j)) out.push_back(a(i, j));
  return out;
}
// Keeps k diagonals beside the main one; LAPACK's band storage of one triangle.
template <class T>
std::vector<T> banded(cublasFillMode_t uplo, Dense<T>& a, int k) {
  std::vector<T> out(static_cast<std::size_t>((k + 1) * a.rows));
  for (int j = 0; j < a.rows; ++j)
    for (int i = 0; i < a.rows; ++i) {
      if (std::abs(i - j) > k) a(i, j) = T(0);
      if (stored(uplo, i, j) && std::abs(i - j) <= k)
        out[static_cast<std::size_t>((uplo == CUBLAS_FILL_MODE_UPPER ? k + i - j : i - j) + j * (k + 1))] = a(i, j);
    }
  return out;
}
template <class T>
Dense<T> column(const std::vector<T>& x) {
  Dense<T> out(static_cast<int>(x.size()), 1);
  out.data = x;
  return out;
}

template <class T>
class Structured : public ::testing::Test {
 protected:
  Handle handle;
  Random random{31};
  std::vector<T> stored_a = random.vector<T>(LD * N);
  Dense<T> a0 = from(stored_a, LD, N, N);
  std::vector<T> x0 = random.vector<T>(N), y0 = random.vector<T>(N);
  T const alpha = T(2), beta = T(-1), zero = T(0);
  static constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
  static constexpr cublasOperation_t kOps[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  static constexpr cublasDiagType_t kDiags[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};

  // y' = alpha full x + beta y, by loops.
  std::vector<T> product(const Dense<T>& full) {
    Dense<T> const p = full * column(x0);
    std::vector<T> out(y0.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = alpha * p.data[i] + beta * y0[i];
    return out;
  }
};
TYPED_TEST_SUITE(Structured, AllTypes);

TYPED_TEST(Structured, GeneralMatrixTimesVector) {
  using T = TypeParam;
  for (auto o : this->kOps) {
    auto y = this->y0;
    BLAS_OK(BLAS_TYPED(T, cublas, gemv)(this->handle, o, N, N, v(&this->alpha), v(this->stored_a.data()), LD,
                                        v(this->x0.data()), 1, v(&this->beta), v(y.data()), 1));
    EXPECT_EQ(y, this->product(op(o, this->a0)));
    std::vector<T> nan(N, T(NAN));
    BLAS_OK(BLAS_TYPED(T, cublas, gemv)(this->handle, o, N, N, v(&this->alpha), v(this->stored_a.data()), LD,
                                        v(this->x0.data()), 1, v(&this->zero), v(nan.data()), 1));
    for (T const& value : nan) EXPECT_FALSE(std::isnan(std::abs(value)));
  }
  // Banded: 2 below, 1 above.
  int const kl = 2, ku = 1;
  Dense<T> band(N, N);
  std::vector<T> held(static_cast<std::size_t>((kl + ku + 1) * N));
  for (int j = 0; j < N; ++j)
    for (int i = std::max(0, j - ku); i <= std::min(N - 1, j + kl); ++i)
      band(i, j) = held[static_cast<std::size_t>(ku + i - j + j * (kl + ku + 1))] = this->a0(i, j);
  for (auto o : this->kOps) {
    auto y = this->y0;
    BLAS_OK(BLAS_TYPED(T, cublas, gbmv)(this->handle, o, N, N, kl, ku, v(&this->alpha), v(held.data()), kl + ku + 1,
                                        v(this->x0.data()), 1, v(&this->beta), v(y.data()), 1));
    EXPECT_EQ(y, this->product(op(o, band)));
  }
}

TYPED_TEST(Structured, TriangularProductsAndSolvesAreInverse) {
  using T = TypeParam;
  for (auto uplo : this->kFills)
    for (auto o : this->kOps)
      for (auto diag : this->kDiags) {
        auto held = this->stored_a;
        for (int i = 0; i < N; ++i)
          held[static_cast<std::size_t>(i * (LD + 1))] = T(i % 2 == 0 ? 1 : -1);  // exact to divide by
        auto full = from(held, LD, N, N);
        auto const t = op(o, triangle(uplo, diag, full));
        auto x = this->x0;
        BLAS_OK(BLAS_TYPED(T, cublas, trmv)(this->handle, uplo, o, diag, N, v(held.data()), LD, v(x.data()), 1));
        EXPECT_EQ(x, (t * column(this->x0)).data);
        BLAS_OK(BLAS_TYPED(T, cublas, trsv)(this->handle, uplo, o, diag, N, v(held.data()), LD, v(x.data()), 1));
        EXPECT_EQ(x, this->x0);
        auto const ap = packed(uplo, full);
        BLAS_OK(BLAS_TYPED(T, cublas, tpmv)(this->handle, uplo, o, diag, N, v(ap.data()), v(x.data()), 1));
        EXPECT_EQ(x, (t * column(this->x0)).data);
        BLAS_OK(BLAS_TYPED(T, cublas, tpsv)(this->handle, uplo, o, diag, N, v(ap.data()), v(x.data()), 1));
        EXPECT_EQ(x, this->x0);
        auto const band = banded(uplo, full, 2);
        BLAS_OK(BLAS_TYPED(T, cublas, tbmv)(this->handle, uplo, o, diag, N, 2, v(band.data()), 3, v(x.data()), 1));
        EXPECT_EQ(x, (op(o, triangle(uplo, diag, full)) * column(this->x0)).data);
        BLAS_OK(BLAS_TYPED(T, cublas, tbsv)(this->handle, uplo, o, diag, N, 2, v(band.data()), 3, v(x.data()), 1));
        EXPECT_EQ(x, this->x0);
      }
}

TYPED_TEST(Structured, SymmetricMatrixTimesVectorAndUpdates) {
  using T = TypeParam;
  for (auto uplo : this->kFills) {
    auto y = this->y0;
    BLAS_OK(BLAS_TYPED(T, cublas, symv)(this->handle, uplo, N, v(&this->alpha), v(this->stored_a.data()), LD,
                                        v(this->x0.data()), 1, v(&this->beta), v(y.data()), 1));
    EXPECT_EQ(y, this->product(symmetric(uplo, this->a0, false)));
    auto updated = this->stored_a, updated2 = this->stored_a;
    BLAS_OK(BLAS_TYPED(T, cublas, syr)(this->handle, uplo, N, v(&this->alpha), v(this->x0.data()), 1, v(updated.data()),
                                       LD));
    BLAS_OK(BLAS_TYPED(T, cublas, syr2)(this->handle, uplo, N, v(&this->alpha), v(this->x0.data()), 1,
                                        v(this->y0.data()), 1, v(updated2.data()), LD));
    auto expected = this->stored_a, expected2 = this->stored_a;
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i)
        if (stored(uplo, i, j)) {
          auto const p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
          expected[p + q * LD] += this->alpha * this->x0[p] * this->x0[q];
          expected2[p + q * LD] += this->alpha * (this->x0[p] * this->y0[q] + this->y0[p] * this->x0[q]);
        }
    EXPECT_EQ(updated, expected);
    EXPECT_EQ(updated2, expected2);
    if constexpr (!kComplex<T>) {
      auto const function_sb = [] {
        if constexpr (std::is_same_v<T, float>)
          return &cublasSsbmv;
        else
          return &cublasDsbmv;
      }();
      auto const function_sp = [] {
        if constexpr (std::is_same_v<T, float>)
          return &cublasSspmv;
        else
          return &cublasDspmv;
      }();
      auto z = this->y0;
      auto const ap = packed(uplo, this->a0);
      BLAS_OK(
          function_sp(this->handle, uplo, N, &this->alpha, ap.data(), this->x0.data(), 1, &this->beta, z.data(), 1));
      EXPECT_EQ(z, this->product(symmetric(uplo, this->a0, false)));
      auto full = this->a0;
      auto const band = banded(uplo, full, 2);
      z = this->y0;
      BLAS_OK(function_sb(this->handle, uplo, N, 2, &this->alpha, band.data(), 3, this->x0.data(), 1, &this->beta,
                          z.data(), 1));
      EXPECT_EQ(z, this->product(symmetric(uplo, full, false)));
    }
  }
}

TYPED_TEST(Structured, RankOneUpdates) {
  using T = TypeParam;
  auto expected = this->stored_a, got = this->stored_a;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i)
      expected[static_cast<std::size_t>(i + j * LD)] +=
          this->alpha * this->x0[static_cast<std::size_t>(i)] * this->y0[static_cast<std::size_t>(j)];
  auto const ger = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cublasSger;
    else if constexpr (std::is_same_v<T, double>)
      return &cublasDger;
    else if constexpr (std::is_same_v<T, C32>)
      return &cublasCgeru;
    else
      return &cublasZgeru;
  }();
  BLAS_OK(ger(this->handle, N, N, v(&this->alpha), v(this->x0.data()), 1, v(this->y0.data()), 1, v(got.data()), LD));
  EXPECT_EQ(got, expected);
}

TYPED_TEST(Structured, RankKUpdatesTouchOneTriangle) {
  using T = TypeParam;
  auto const a = this->random.template vector<T>(LD * N), b = this->random.template vector<T>(LD * N);
  for (auto uplo : this->kFills)
    for (auto o : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      auto const da = from(a, LD, o == CUBLAS_OP_N ? N : K, o == CUBLAS_OP_N ? K : N),
                 db = from(b, LD, da.rows, da.cols);
      auto const turned = o == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
      auto const check = [&](const Dense<T>& product, auto call) {
        for (T const factor : {this->beta, this->zero}) {
          auto c = this->stored_a, expected = c;
          for (int j = 0; j < N; ++j)
            for (int i = 0; i < N; ++i)
              if (stored(uplo, i, j)) {
                T& e = expected[static_cast<std::size_t>(i + j * LD)];
                e = this->alpha * product(i, j) + (factor == T(0) ? T(0) : factor * e);
                if (factor == T(0)) c[static_cast<std::size_t>(i + j * LD)] = T(NAN);
              }
          BLAS_OK(call(&factor, c.data()));
          EXPECT_EQ(c, expected);
        }
      };
      check(op(o, da) * op(turned, da), [&](const T* factor, T* c) {
        return BLAS_TYPED(T, cublas, syrk)(this->handle, uplo, o, N, K, v(&this->alpha), v(a.data()), LD, v(factor),
                                           v(c), LD);
      });
      auto both = op(o, da) * op(turned, db);
      check(both, [&](const T* factor, T* c) {
        return BLAS_TYPED(T, cublas, syrkx)(this->handle, uplo, o, N, K, v(&this->alpha), v(a.data()), LD, v(b.data()),
                                            LD, v(factor), v(c), LD);
      });
      auto const other = op(o, db) * op(turned, da);
      for (std::size_t i = 0; i < both.data.size(); ++i) both.data[i] += other.data[i];
      check(both, [&](const T* factor, T* c) {
        return BLAS_TYPED(T, cublas, syr2k)(this->handle, uplo, o, N, K, v(&this->alpha), v(a.data()), LD, v(b.data()),
                                            LD, v(factor), v(c), LD);
      });
    }
}

TYPED_TEST(Structured, SymmAndTrmmAndTrsm) {
  using T = TypeParam;
  auto const b = this->random.template vector<T>(LD * N);
  auto held = this->stored_a;
  for (int i = 0; i < N; ++i) held[static_cast<std::size_t>(i * (LD + 1))] = T(i % 2 == 0 ? 1 : -1);
  auto const db = from(b, LD, N, N);
  auto const scaled = [&](Dense<T> p, const std::vector<T>& c, T factor) {
    auto out = c;
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i) {
        T& e = out[static_cast<std::size_t>(i + j * LD)];
        e = this->alpha * p(i, j) + factor * e;
      }
    return out;
  };
  for (auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (auto uplo : this->kFills) {
      auto c = this->stored_a;
      auto const s = symmetric(uplo, this->a0, false);
      auto const expected = scaled(side == CUBLAS_SIDE_LEFT ? s * db : db * s, c, this->beta);
      BLAS_OK(BLAS_TYPED(T, cublas, symm)(this->handle, side, uplo, N, N, v(&this->alpha), v(this->stored_a.data()), LD,
                                          v(b.data()), LD, v(&this->beta), v(c.data()), LD));
      EXPECT_EQ(c, expected);
      for (auto o : this->kOps)
        for (auto diag : this->kDiags) {
          auto const t = op(o, triangle(uplo, diag, from(held, LD, N, N)));
          auto d = b;
          BLAS_OK(BLAS_TYPED(T, cublas, trmm)(this->handle, side, uplo, o, diag, N, N, v(&this->alpha), v(held.data()),
                                              LD, v(b.data()), LD, v(d.data()), LD));
          EXPECT_EQ(d, scaled(side == CUBLAS_SIDE_LEFT ? t * db : db * t, b, T(0)));
          T const half(0.5);
          BLAS_OK(BLAS_TYPED(T, cublas, trsm)(this->handle, side, uplo, o, diag, N, N, v(&half), v(held.data()), LD,
                                              v(d.data()), LD));
          EXPECT_EQ(from(d, LD, N, N).data, db.data);
          auto again = b;
          using V = typename Vendor<T>::type;
          const V* const as[] = {v(static_cast<const T*>(held.data()))};
          V* const bs[] = {v(again.data())};
          T const one(1);
          BLAS_OK(
              BLAS_TYPED(T, cublas, trsmBatched)(this->handle, side, uplo, o, diag, N, N, v(&one), as, LD, bs, LD, 1));
          auto const back = from(again, LD, N, N);
          EXPECT_EQ((side == CUBLAS_SIDE_LEFT ? t * back : back * t).data, db.data);
        }
    }
}

TYPED_TEST(Structured, Extensions) {
  using T = TypeParam;
  auto const b = this->random.template vector<T>(LD * N);
  auto const db = from(b, LD, N, N);
  for (auto oa : this->kOps)
    for (auto ob : this->kOps) {
      std::vector<T> c(LD * N, T(NAN));
      BLAS_OK(BLAS_TYPED(T, cublas, geam)(this->handle, oa, ob, N, N, v(&this->alpha), v(this->stored_a.data()), LD,
                                          v(&this->beta), v(b.data()), LD, v(c.data()), LD));
      auto const x = op(oa, this->a0), y = op(ob, db);
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i)
          ASSERT_EQ(c[static_cast<std::size_t>(i + j * LD)], this->alpha * x(i, j) + this->beta * y(i, j));
    }
  for (auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
    std::vector<T> c(LD * N);
    BLAS_OK(BLAS_TYPED(T, cublas, dgmm)(this->handle, side, N, N, v(this->stored_a.data()), LD, v(this->x0.data()), 1,
                                        v(c.data()), LD));
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i)
        ASSERT_EQ(c[static_cast<std::size_t>(i + j * LD)],
                  this->a0(i, j) * this->x0[static_cast<std::size_t>(side == CUBLAS_SIDE_LEFT ? i : j)]);
  }
  for (auto uplo : this->kFills) {
    std::vector<T> ap(N * (N + 1) / 2), back(LD * N);
    BLAS_OK(BLAS_TYPED(T, cublas, trttp)(this->handle, uplo, N, v(this->stored_a.data()), LD, v(ap.data())));
    EXPECT_EQ(ap, packed(uplo, this->a0));
    BLAS_OK(BLAS_TYPED(T, cublas, tpttr)(this->handle, uplo, N, v(ap.data()), v(back.data()), LD));
    EXPECT_EQ(packed(uplo, from(back, LD, N, N)), ap);
  }
  std::vector<T> y1 = this->y0, y2 = this->y0;
  y1.insert(y1.end(), this->y0.begin(), this->y0.end());
  BLAS_OK(BLAS_TYPED(T, cublas, gemvStridedBatched)(this->handle, CUBLAS_OP_T, N, N, v(&this->alpha),
                                                    v(this->stored_a.data()), LD, 0, v(this->x0.data()), 1, 0,
                                                    v(&this->beta), v(y1.data()), 1, N, 2));
  auto const expected = this->product(op(CUBLAS_OP_T, this->a0));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), y1.begin()));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), y1.begin() + N));
}

template <class T>
class HermitianRoutines : public Structured<T> {};
using ComplexTypes = ::testing::Types<C32, C64>;
TYPED_TEST_SUITE(HermitianRoutines, ComplexTypes);
#define CZ(T, suffix)                     \
  [] {                                    \
    if constexpr (std::is_same_v<T, C32>) \
      return &cublasC##suffix;            \
    else                                  \
      return &cublasZ##suffix;            \
  }()

TYPED_TEST(HermitianRoutines, EqualPlainLoops) {
  using T = TypeParam;
  using R = typename T::value_type;
  auto& t = *this;
  R const two = 2, minus = -1;
  auto const a = t.random.template vector<T>(LD * N), b = t.random.template vector<T>(LD * N);
  for (auto uplo : t.kFills) {
    auto const h = symmetric(uplo, t.a0, true);
    auto y = t.y0;
    BLAS_OK(CZ(T, hemv)(t.handle, uplo, N, v(&t.alpha), v(t.stored_a.data()), LD, v(t.x0.data()), 1, v(&t.beta),
                        v(y.data()), 1));
    EXPECT_EQ(y, t.product(h));
    y = t.y0;
    auto const ap = packed(uplo, t.a0);
    BLAS_OK(CZ(T, hpmv)(t.handle, uplo, N, v(&t.alpha), v(ap.data()), v(t.x0.data()), 1, v(&t.beta), v(y.data()), 1));
    EXPECT_EQ(y, t.product(h));
    y = t.y0;
    auto full = t.a0;
    auto const band = banded(uplo, full, 2);
    BLAS_OK(CZ(T, hbmv)(t.handle, uplo, N, 2, v(&t.alpha), v(band.data()), 3, v(t.x0.data()), 1, v(&t.beta),
                        v(y.data()), 1));
    EXPECT_EQ(y, t.product(symmetric(uplo, full, true)));

    // Updates keep the diagonal real.
    auto const update = [&](std::vector<T> c, std::function<T(int, int)> change) {
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i)
          if (stored(uplo, i, j)) {
            T& e = c[static_cast<std::size_t>(i + j * LD)];
            e = change(i, j) + e;
            if (i == j) e = std::real(e);
          }
      return c;
    };
    auto const X = [&](int i) { return t.x0[static_cast<std::size_t>(i)]; };
    auto const Y = [&](int i) { return t.y0[static_cast<std::size_t>(i)]; };
    auto c = t.stored_a;
    BLAS_OK(CZ(T, her)(t.handle, uplo, N, &two, v(t.x0.data()), 1, v(c.data()), LD));
    EXPECT_EQ(c, update(t.stored_a, [&](int i, int j) { return two * X(i) * std::conj(X(j)); }));
    c = t.stored_a;
    BLAS_OK(CZ(T, her2)(t.handle, uplo, N, v(&t.alpha), v(t.x0.data()), 1, v(t.y0.data()), 1, v(c.data()), LD));
    EXPECT_EQ(c, update(t.stored_a, [&](int i, int j) {
                return t.alpha * X(i) * std::conj(Y(j)) + std::conj(t.alpha) * Y(i) * std::conj(X(j));
              }));
    for (auto o : {CUBLAS_OP_N, CUBLAS_OP_C}) {
      auto const da = op(o, from(a, LD, o == CUBLAS_OP_N ? N : K, o == CUBLAS_OP_N ? K : N));
      auto const db = op(o, from(b, LD, o == CUBLAS_OP_N ? N : K, o == CUBLAS_OP_N ? K : N));
      auto const aa = da * op(CUBLAS_OP_C, da), ab = da * op(CUBLAS_OP_C, db), ba = db * op(CUBLAS_OP_C, da);
      auto const expect = [&](const Dense<T>& p) {
        auto out = t.stored_a;
        for (int j = 0; j < N; ++j)
          for (int i = 0; i < N; ++i)
            if (stored(uplo, i, j)) {
              T& e = out[static_cast<std::size_t>(i + j * LD)];
              e = two * p(i, j) + minus * e;
              if (i == j) e = std::real(e);
            }
        return out;
      };
      c = t.stored_a;
      BLAS_OK(CZ(T, herk)(t.handle, uplo, o, N, K, &two, v(a.data()), LD, &minus, v(c.data()), LD));
      EXPECT_EQ(c, expect(aa));
      c = t.stored_a;
      BLAS_OK(CZ(T, herkx)(t.handle, uplo, o, N, K, v(&t.alpha), v(a.data()), LD, v(b.data()), LD, &minus, v(c.data()),
                           LD));
      EXPECT_EQ(c, expect(ab));
      c = t.stored_a;
      auto sum = ab;
      for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += ba.data[i];
      BLAS_OK(CZ(T, her2k)(t.handle, uplo, o, N, K, v(&t.alpha), v(a.data()), LD, v(b.data()), LD, &minus, v(c.data()),
                           LD));
      EXPECT_EQ(c, expect(sum));
    }
    auto m = t.stored_a;
    BLAS_OK(CZ(T, hemm)(t.handle, CUBLAS_SIDE_LEFT, uplo, N, N, v(&t.alpha), v(t.stored_a.data()), LD, v(b.data()), LD,
                        v(&t.zero), v(m.data()), LD));
    auto const hb = h * from(b, LD, N, N);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i) ASSERT_EQ(m[static_cast<std::size_t>(i + j * LD)], t.alpha * hb(i, j));
  }
  auto c = t.stored_a;
  BLAS_OK(CZ(T, gerc)(t.handle, N, N, v(&t.alpha), v(t.x0.data()), 1, v(t.y0.data()), 1, v(c.data()), LD));
  EXPECT_EQ(c[1], t.stored_a[1] + t.alpha * t.x0[1] * std::conj(t.y0[0]));
}

TEST(GemvBatched, MixedTypesGoThroughFp32) {
  Handle handle;
  std::vector<__nv_bfloat16> a, x;
  for (int i = 0; i < 6; ++i) a.push_back(__float2bfloat16(static_cast<float>(i)));
  for (int i = 0; i < 6; ++i) x.push_back(__float2bfloat16(static_cast<float>(i % 2 + 1)));
  std::vector<float> y(4, 1);
  float const one = 1;
  const __nv_bfloat16* as[] = {a.data()};
  const __nv_bfloat16* xs[] = {x.data()};
  float* ys[] = {y.data()};
  // A is 2x3: rows (0 2 4), (1 3 5); x = (1 1 1) at every second place; y goes to places 0 and 2.
  BLAS_OK(cublasTSSgemvBatched(handle, CUBLAS_OP_N, 2, 3, &one, as, 2, xs, 2, &one, ys, 2, 1));
  EXPECT_EQ(y, (std::vector<float>{7, 1, 10, 1}));
}

}  // namespace
}  // namespace blas_test
