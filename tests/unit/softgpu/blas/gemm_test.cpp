// SPDX-License-Identifier: Apache-2.0
// Matrix products against a plain loop: exact on whole numbers, in every type, shape and batch form.
#include <limits>

#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

struct Problem {
  cublasOperation_t ta, tb;
  int m, n, k, lda, ldb, ldc;
  std::size_t size_a() const { return static_cast<std::size_t>(lda * (ta == CUBLAS_OP_N ? std::max(k, 1) : m)); }
  std::size_t size_b() const { return static_cast<std::size_t>(ldb * (tb == CUBLAS_OP_N ? n : std::max(k, 1))); }
  std::size_t size_c() const { return static_cast<std::size_t>(ldc * n); }
};

Problem random_problem(Random& random, int largest) {
  auto const op = [&] { return random.pick({CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}); };
  Problem p{op(), op(), random.integer(1, largest), random.integer(1, largest), random.integer(0, largest)};
  p.lda = std::max(1, p.ta == CUBLAS_OP_N ? p.m : p.k) + random.integer(0, 5);
  p.ldb = std::max(1, p.tb == CUBLAS_OP_N ? p.k : p.n) + random.integer(0, 5);
  p.ldc = p.m + random.integer(0, 5);
  return p;
}

template <class T>
class TypedGemm : public ::testing::Test {};
TYPED_TEST_SUITE(TypedGemm, AllTypes);

TYPED_TEST(TypedGemm, EqualsPlainLoopOnRandomShapes) {
  using T = TypeParam;
  Handle handle;
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    Problem const p = random_problem(random, round < 50 ? 40 : 200);
    auto const a = random.vector<T>(p.size_a()), b = random.vector<T>(p.size_b());
    auto c = random.vector<T>(p.size_c());
    auto expected = c;
    T const alpha = random.whole<T>(), beta = random.pick({T(0), T(1), T(-2)});
    naive_gemm(p.ta, p.tb, p.m, p.n, p.k, alpha, a.data(), p.lda, b.data(), p.ldb, beta, expected.data(), p.ldc);
    BLAS_OK(BLAS_TYPED(T, cublas, gemm)(handle, p.ta, p.tb, p.m, p.n, p.k, v(&alpha), v(a.data()), p.lda, v(b.data()),
                                        p.ldb, v(&beta), v(c.data()), p.ldc));
    ASSERT_EQ(c, expected) << "round " << round;
  }
}

TYPED_TEST(TypedGemm, ZeroBetaDoesNotReadC) {
  using T = TypeParam;
  Handle handle;
  for (int k : {0, 3}) {
    std::vector<T> const a(12, T(1)), b(12, T(1));
    std::vector<T> c(16, T(std::numeric_limits<float>::quiet_NaN()));
    T const alpha(2), beta(0);
    BLAS_OK(BLAS_TYPED(T, cublas, gemm)(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, k, v(&alpha), v(a.data()), 4,
                                        v(b.data()), 3, v(&beta), v(c.data()), 4));
    for (T const& x : c) ASSERT_EQ(x, T(static_cast<float>(2 * k)));
  }
}

TYPED_TEST(TypedGemm, StridedAndArrayBatchesAgreeInBothWidths) {
  using T = TypeParam;
  Handle handle;
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    Problem const p = random_problem(random, 20);
    int const count = random.integer(1, 5);
    auto const stride_a = static_cast<long long>(round % 3 == 0 ? 0 : p.size_a() + 3);
    auto const stride_b = static_cast<long long>(p.size_b()), stride_c = static_cast<long long>(p.size_c() + 7);
    auto const n = static_cast<std::size_t>(count);
    auto const a = random.vector<T>((p.size_a() + 3) * n), b = random.vector<T>(p.size_b() * n);
    auto c = random.vector<T>((p.size_c() + 7) * n);
    auto expected = c, c_array = c, c_wide = c;
    T const alpha(2), beta(-1);
    std::vector<const T*> as, bs;
    std::vector<T*> cs;
    for (int i = 0; i < count; ++i) {
      as.push_back(a.data() + i * stride_a);
      bs.push_back(b.data() + i * stride_b);
      cs.push_back(c_array.data() + i * stride_c);
      naive_gemm(p.ta, p.tb, p.m, p.n, p.k, alpha, as.back(), p.lda, bs.back(), p.ldb, beta,
                 expected.data() + i * stride_c, p.ldc);
    }
    BLAS_OK(BLAS_TYPED(T, cublas, gemmStridedBatched)(handle, p.ta, p.tb, p.m, p.n, p.k, v(&alpha), v(a.data()), p.lda,
                                                      stride_a, v(b.data()), p.ldb, stride_b, v(&beta), v(c.data()),
                                                      p.ldc, stride_c, count));
    EXPECT_EQ(c, expected);
    BLAS_OK(BLAS_TYPED(T, cublas, gemmStridedBatched_64)(handle, p.ta, p.tb, p.m, p.n, p.k, v(&alpha), v(a.data()),
                                                         p.lda, stride_a, v(b.data()), p.ldb, stride_b, v(&beta),
                                                         v(c_wide.data()), p.ldc, stride_c, count));
    EXPECT_EQ(c_wide, expected);
    using V = typename Vendor<T>::type;
    BLAS_OK(BLAS_TYPED(T, cublas, gemmBatched)(handle, p.ta, p.tb, p.m, p.n, p.k, v(&alpha),
                                               reinterpret_cast<const V* const*>(as.data()), p.lda,
                                               reinterpret_cast<const V* const*>(bs.data()), p.ldb, v(&beta),
                                               reinterpret_cast<V* const*>(cs.data()), p.ldc, count));
    EXPECT_EQ(c_array, expected);
  }
}

// Matrices of a type given by number, filled with whole numbers.
struct AnyMatrix {
  cudaDataType type;
  std::vector<float> values;
  std::vector<std::uint8_t> bytes;
  AnyMatrix(cudaDataType t, std::vector<float> v) : type(t), values(std::move(v)), bytes(values.size() * 4) { store(); }
  void store() { tidemark::softgpu::blas::narrow(type, values.data(), bytes.data(), values.size()); }
  std::vector<float> load() const {
    std::vector<float> out(values.size());
    tidemark::softgpu::blas::widen(type, bytes.data(), out.data(), out.size());
    return out;
  }
};

struct Combination {
  cublasComputeType_t compute;
  cudaDataType scale, ab, c;
};
constexpr Combination kCombinations[] = {
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I},
};

TEST(GemmEx, EveryDocumentedCombinationEqualsPlainLoop) {
  Handle handle;
  Random random(3);
  for (auto const& types : kCombinations)
    for (int round = 0; round < 12; ++round) {
      // bf16 counts exactly to 256 only: a small depth keeps its sums whole.
      Problem const p = random_problem(random, types.c == CUDA_R_16BF ? 12 : 60);
      AnyMatrix a(types.ab, random.vector<float>(p.size_a())), b(types.ab, random.vector<float>(p.size_b()));
      AnyMatrix c(types.c, random.vector<float>(p.size_c()));
      auto expected = c.values;
      AnyMatrix const alpha(types.scale, {round % 2 == 0 ? 1.0f : 2.0f}),
          beta(types.scale, {static_cast<float>(round % 3)});
      naive_gemm(p.ta, p.tb, p.m, p.n, p.k, alpha.values[0], a.values.data(), p.lda, b.values.data(), p.ldb,
                 beta.values[0], expected.data(), p.ldc);
      BLAS_OK(cublasGemmEx(handle, p.ta, p.tb, p.m, p.n, p.k, alpha.bytes.data(), a.bytes.data(), types.ab, p.lda,
                           b.bytes.data(), types.ab, p.ldb, beta.bytes.data(), c.bytes.data(), types.c, p.ldc,
                           types.compute, CUBLAS_GEMM_DEFAULT));
      ASSERT_EQ(c.load(), AnyMatrix(types.c, expected).load()) << "compute " << types.compute << " ab " << types.ab;
    }
}

TEST(GemmEx, TilesLargerThanOneAreJoinedRight) {
  Handle handle;
  Random random(5);
  for (auto const& types : {kCombinations[1], kCombinations[8]}) {
    int const m = 1100, n = 1030, k = 1060;
    AnyMatrix a(types.ab, std::vector<float>(static_cast<std::size_t>(m * k))),
        b(types.ab, std::vector<float>(static_cast<std::size_t>(k * n)));
    // Ones in chosen places: entry (i, j) counts the p with a(i,p) = b(p,j) = 1.
    for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] = random.integer(0, 7) == 0;
    for (std::size_t i = 0; i < b.values.size(); ++i) b.values[i] = random.integer(0, 7) == 0;
    a.store();
    b.store();
    AnyMatrix c(types.c, std::vector<float>(static_cast<std::size_t>(m * n), 1.0f));
    AnyMatrix const one(types.scale, {1.0f});
    BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, one.bytes.data(), a.bytes.data(), types.ab, m,
                         b.bytes.data(), types.ab, k, one.bytes.data(), c.bytes.data(), types.c, m, types.compute,
                         CUBLAS_GEMM_DEFAULT));
    auto const got = c.load();
    for (auto const& [i, j] : {std::pair{0, 0}, {1099, 1029}, {1023, 1024}, {1024, 1023}, {1050, 7}, {3, 1028}}) {
      float expected = 1;
      for (int p = 0; p < k; ++p)
        expected += a.values[static_cast<std::size_t>(i + p * m)] * b.values[static_cast<std::size_t>(p + j * k)];
      EXPECT_EQ(got[static_cast<std::size_t>(i + j * m)], expected);
    }
  }
}

TEST(GemmEx, Int8IsExactAtItsExtremes) {
  Handle handle;
  int const k = 3000;
  std::vector<std::int8_t> const a(k, -128), b(k, -128);
  std::int32_t c = 5, one = 1;
  BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, k, &one, a.data(), CUDA_R_8I, k, b.data(), CUDA_R_8I, k,
                       &one, &c, CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(c, 5 + k * 128 * 128);
}

TEST(GemmEx, HalfIsRoundedOnceAfterFp32Sums) {
  Handle handle;
  Random random(9);
  int const n = 64, k = 300;
  std::vector<float> av(static_cast<std::size_t>(n * k)), bv(av.size());
  for (auto* const side : {&av, &bv})
    for (float& x : *side) x = static_cast<float>(random.integer(-1000, 1000)) / 1000.0f;
  AnyMatrix a(CUDA_R_16F, av), b(CUDA_R_16F, bv), c(CUDA_R_16F, std::vector<float>(static_cast<std::size_t>(n * n)));
  float const alpha = 1, beta = 0;
  BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, k, &alpha, a.bytes.data(), CUDA_R_16F, n, b.bytes.data(),
                       CUDA_R_16F, n, &beta, c.bytes.data(), CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  auto const al = a.load(), bl = b.load(), got = c.load();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += double(al[static_cast<std::size_t>(i + p * n)]) * double(bl[static_cast<std::size_t>(j + p * n)]);
      // Half a unit of fp16 (2^-11) for the rounding, and fp32's own error in a sum of 300.
      EXPECT_NEAR(got[static_cast<std::size_t>(i + j * n)], sum, std::abs(sum) * 0x1p-11 + 1e-4);
    }
}

TEST(GemmEx, BatchFormsAndGroupsEqualSingleCalls) {
  Handle handle;
  Random random(13);
  int const n = 9, count = 4;
  auto const size = static_cast<std::size_t>(n * n);
  AnyMatrix a(CUDA_R_16F, random.vector<float>(size * count)), b(CUDA_R_16F, random.vector<float>(size * count));
  AnyMatrix single(CUDA_R_16F, random.vector<float>(size * count)), strided = single, array = single, grouped = single;
  float const alpha = 1, beta = 1;
  std::vector<const void*> as, bs;
  std::vector<void*> cs, gs;
  for (std::size_t i = 0; i < count; ++i) {
    as.push_back(a.bytes.data() + 2 * size * i);
    bs.push_back(b.bytes.data() + 2 * size * i);
    cs.push_back(array.bytes.data() + 2 * size * i);
    gs.push_back(grouped.bytes.data() + 2 * size * i);
    BLAS_OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &alpha, as[i], CUDA_R_16F, n, bs[i], CUDA_R_16F, n,
                         &beta, single.bytes.data() + 2 * size * i, CUDA_R_16F, n, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT));
  }
  BLAS_OK(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &alpha, a.bytes.data(), CUDA_R_16F, n,
                                     n * n, b.bytes.data(), CUDA_R_16F, n, n * n, &beta, strided.bytes.data(),
                                     CUDA_R_16F, n, n * n, count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  BLAS_OK(cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &alpha, as.data(), CUDA_R_16F, n, bs.data(),
                              CUDA_R_16F, n, &beta, cs.data(), CUDA_R_16F, n, count, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT));
  cublasOperation_t const ta[] = {CUBLAS_OP_N, CUBLAS_OP_N}, tb[] = {CUBLAS_OP_T, CUBLAS_OP_T};
  int const dims[] = {n, n}, sizes[] = {1, 3};
  float const alphas[] = {1, 1}, betas[] = {1, 1};
  BLAS_OK(cublasGemmGroupedBatchedEx(handle, ta, tb, dims, dims, dims, alphas, as.data(), CUDA_R_16F, dims, bs.data(),
                                     CUDA_R_16F, dims, betas, gs.data(), CUDA_R_16F, dims, 2, sizes,
                                     CUBLAS_COMPUTE_32F));
  EXPECT_EQ(strided.load(), single.load());
  EXPECT_EQ(array.load(), single.load());
  EXPECT_EQ(grouped.load(), single.load());
}

TEST(Hgemm, ComputesInHalf) {
  Handle handle;
  __half const two = __float2half(2), zero = __float2half(0);
  std::vector<__half> const a(6, __float2half(3)), b(6, __float2half(-1));
  std::vector<__half> c(4, __float2half(NAN));
  BLAS_OK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &two, a.data(), 2, b.data(), 3, &zero, c.data(), 2));
  for (__half x : c) EXPECT_EQ(__half2float(x), -18);
}

TEST(GemmArguments, AreCheckedAsDocumented) {
  Handle handle;
  float const one = 1;
  std::vector<float> x(64);
  auto const gemm = [&](cublasHandle_t h, cublasOperation_t ta, int m, int n, int k, const float* alpha, int lda,
                        int ldb, int ldc, float* c) {
    return cublasSgemm(h, ta, CUBLAS_OP_N, m, n, k, alpha, x.data(), lda, x.data(), ldb, &one, c, ldc);
  };
  EXPECT_EQ(gemm(nullptr, CUBLAS_OP_N, 2, 2, 2, &one, 2, 2, 2, x.data()), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(gemm(handle, static_cast<cublasOperation_t>(9), 2, 2, 2, &one, 2, 2, 2, x.data()),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, -1, 2, 2, &one, 2, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, -1, 2, &one, 2, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, -1, &one, 2, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 3, 2, 2, &one, 2, 2, 3, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 3, &one, 2, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 3, 2, 2, &one, 3, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, nullptr, 2, 2, 2, x.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 2, 2, 2, &one, 2, 2, 2, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, CUBLAS_OP_N, 0, 2, 2, &one, 1, 2, 1, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(fake::state().queued.empty());
}

TEST(GemmArguments, UndocumentedTypesAreNotSupported) {
  Handle handle;
  float const one = 1;
  double x = 1;
  auto const ex = [&](cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, &x, a, 1, &x, b, 1, &one, &x, c, 1, compute,
                        CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(ex(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_64F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, static_cast<cublasComputeType_t>(3)), CUBLAS_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace blas_test
