// SPDX-License-Identifier: Apache-2.0
// cuBLASLt: descriptors, products in row and column order, epilogues forward and backward.
#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

struct LtHandle : fake::Scope {
  cublasLtHandle_t h = nullptr;
  LtHandle() { EXPECT_EQ(cublasLtCreate(&h), CUBLAS_STATUS_SUCCESS); }
  ~LtHandle() { EXPECT_EQ(cublasLtDestroy(h), CUBLAS_STATUS_SUCCESS); }
};

struct MatrixLayout {
  cublasLtMatrixLayoutOpaque_t opaque;
  MatrixLayout(cudaDataType type, int rows, int cols, int ld, cublasLtOrder_t order = CUBLASLT_ORDER_COL) {
    EXPECT_EQ(cublasLtMatrixLayoutInit(&opaque, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), ld),
              CUBLAS_STATUS_SUCCESS);
    std::int32_t const o = order;
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&opaque, CUBLASLT_MATRIX_LAYOUT_ORDER, &o, sizeof o),
              CUBLAS_STATUS_SUCCESS);
  }
  void batch(std::int32_t count, std::int64_t stride) {
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&opaque, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(
        cublasLtMatrixLayoutSetAttribute(&opaque, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        CUBLAS_STATUS_SUCCESS);
  }
  operator cublasLtMatrixLayout_t() { return &opaque; }
};

struct Desc {
  cublasLtMatmulDesc_t desc = nullptr;
  explicit Desc(cublasComputeType_t compute = CUBLAS_COMPUTE_32F, cudaDataType scale = CUDA_R_32F) {
    EXPECT_EQ(cublasLtMatmulDescCreate(&desc, compute, scale), CUBLAS_STATUS_SUCCESS);
  }
  ~Desc() { cublasLtMatmulDescDestroy(desc); }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t id, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, id, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  void epilogue(cublasLtEpilogue_t code) { set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(code)); }
  operator cublasLtMatmulDesc_t() const { return desc; }
};

cublasStatus_t matmul(cublasLtHandle_t h, cublasLtMatmulDesc_t desc, float alpha, const void* a,
                      cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, float beta, const void* c,
                      cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld) {
  return cublasLtMatmul(h, desc, &alpha, a, la, b, lb, &beta, c, lc, d, ld, nullptr, nullptr, 0, nullptr);
}

TEST(LtDescriptors, AttributesHaveDocumentedSizesAndDefaults) {
  Desc desc;
  std::size_t written = 0;
  std::uint32_t epilogue = 0;
  BLAS_OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, &written));
  EXPECT_EQ(epilogue, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(written, 4u);
  BLAS_OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr, 0, &written));
  EXPECT_EQ(written, 8u);
  BLAS_OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, nullptr, 0, &written));
  EXPECT_EQ(written, 1u);
  std::int32_t fill = -1;
  BLAS_OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_FILL_MODE, &fill, 4, nullptr));
  EXPECT_EQ(fill, CUBLAS_FILL_MODE_FULL);
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 2, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 8),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, static_cast<cublasLtMatmulDescAttributes_t>(999), &epilogue, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulPreference_t preference = nullptr;
  BLAS_OK(cublasLtMatmulPreferenceCreate(&preference));
  std::uint32_t alignment = 0;
  BLAS_OK(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment, 4,
                                               nullptr));
  EXPECT_EQ(alignment, 256u);
  BLAS_OK(cublasLtMatmulPreferenceDestroy(preference));
}

TEST(LtHeuristic, GivesOneAlgorithmWithinTheWorkspace) {
  LtHandle handle;
  Desc desc;
  MatrixLayout a(CUDA_R_16F, 8, 4, 8), b(CUDA_R_16F, 4, 6, 4), c(CUDA_R_16F, 8, 6, 8);
  cublasLtMatmulPreferenceOpaque_t preference;
  BLAS_OK(cublasLtMatmulPreferenceInit(&preference));
  cublasLtMatmulHeuristicResult_t results[3];
  int count = -1;
  BLAS_OK(cublasLtMatmulAlgoGetHeuristic(handle.h, desc, a, b, c, c, &preference, 3, results, &count));
  ASSERT_EQ(count, 1);
  EXPECT_EQ(results[0].state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(results[0].workspaceSize, 0u);
  BLAS_OK(cublasLtMatmulAlgoCheck(handle.h, desc, a, b, c, c, &results[0].algo, &results[1]));
  std::int32_t split = 0;
  BLAS_OK(cublasLtMatmulAlgoConfigGetAttribute(&results[0].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, 4, nullptr));
  EXPECT_EQ(split, 1);
  MatrixLayout wrong(CUDA_R_16BF, 8, 4, 8);
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle.h, desc, wrong, b, c, c, &preference, 3, results, &count),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(count, 0);
  int ids[4];
  BLAS_OK(cublasLtMatmulAlgoGetIds(handle.h, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                   CUDA_R_32F, 4, ids, &count));
  EXPECT_EQ(count, 1);
}

// All 16 combinations of orders and transposes, D apart from C, two batches.
TEST(LtMatmul, OrdersTransposesAndBatchesEqualPlainLoop) {
  LtHandle handle;
  Random random(2);
  int const m = 5, n = 7, k = 3, count = 2;
  for (int bits = 0; bits < 32; ++bits) {
    bool const ta = bits & 1, tb = bits & 2, row_a = bits & 4, row_b = bits & 8, row_d = bits & 16;
    int const ar = ta ? k : m, ac = ta ? m : k, br = tb ? n : k, bc = tb ? k : n;
    auto const order = [](bool row) { return row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL; };
    MatrixLayout la(CUDA_R_32F, ar, ac, row_a ? ac : ar, order(row_a)),
        lb(CUDA_R_32F, br, bc, row_b ? bc : br, order(row_b));
    MatrixLayout ld(CUDA_R_32F, m, n, row_d ? n + 1 : m + 1, order(row_d));
    auto const a = random.vector<float>(m * k * count), b = random.vector<float>(n * k * count);
    int const d_size = row_d ? (n + 1) * m : (m + 1) * n;
    auto const c = random.vector<float>(static_cast<std::size_t>(d_size * count));
    std::vector<float> d(c.size(), NAN);
    la.batch(count, m * k);
    lb.batch(count, n * k);
    ld.batch(count, d_size);
    Desc desc;
    desc.set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(ta ? CUBLAS_OP_T : CUBLAS_OP_N));
    desc.set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(tb ? CUBLAS_OP_C : CUBLAS_OP_N));
    BLAS_OK(matmul(handle.h, desc, 2, a.data(), la, b.data(), lb, -1, c.data(), ld, d.data(), ld));
    auto const at = [](const std::vector<float>& x, bool row, int l, int i, int j, int offset) {
      return x[static_cast<std::size_t>(offset + (row ? j + i * l : i + j * l))];
    };
    for (int batch = 0; batch < count; ++batch)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          float sum = 0;
          for (int p = 0; p < k; ++p)
            sum += at(a, row_a, row_a ? ac : ar, ta ? p : i, ta ? i : p, batch * m * k) *
                   at(b, row_b, row_b ? bc : br, tb ? j : p, tb ? p : j, batch * n * k);
          float const old = at(c, row_d, row_d ? n + 1 : m + 1, i, j, batch * d_size);
          ASSERT_EQ(at(d, row_d, row_d ? n + 1 : m + 1, i, j, batch * d_size), 2 * sum - old) << bits;
        }
  }
}

// A product with known pre-activations: A is the identity, so D = B (+ bias) before the activation.
struct EpilogueCase : LtHandle {
  static constexpr int kRows = 9, kCols = 5, kAuxLd = 128;
  Desc desc;
  std::vector<float> eye, x, bias, d, grad;
  std::vector<std::uint8_t> mask;
  std::vector<float> aux;
  EpilogueCase()
      : eye(kRows * kRows),
        x(kRows * kCols),
        bias(kRows),
        d(kRows * kCols, NAN),
        grad(kRows, NAN),
        mask(kAuxLd / 8 * kCols),
        aux(16 * kCols, NAN) {
    for (int i = 0; i < kRows; ++i) eye[static_cast<std::size_t>(i * kRows + i)] = 1;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 4;
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) / 2 - 2;
  }
  void run(cublasLtEpilogue_t code, const std::vector<float>& input) {
    MatrixLayout le(CUDA_R_32F, kRows, kRows, kRows), lx(CUDA_R_32F, kRows, kCols, kRows);
    desc.epilogue(code);
    BLAS_OK(matmul(h, desc, 1, eye.data(), le, input.data(), lx, 0, nullptr, lx, d.data(), lx));
  }
  float pre(int i, int j) const {
    return x[static_cast<std::size_t>(i + j * kRows)] + bias[static_cast<std::size_t>(i)];
  }
  float got(int i, int j) const { return d[static_cast<std::size_t>(i + j * kRows)]; }
  template <class F>
  void each(F f) {
    for (int j = 0; j < kCols; ++j)
      for (int i = 0; i < kRows; ++i) f(i, j);
  }
};

TEST(LtEpilogue, BiasReluWithMaskAndItsGradient) {
  EpilogueCase e;
  e.desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(e.bias.data()));
  e.run(CUBLASLT_EPILOGUE_BIAS, e.x);
  e.each([&](int i, int j) { ASSERT_EQ(e.got(i, j), e.pre(i, j)); });
  e.run(CUBLASLT_EPILOGUE_RELU_BIAS, e.x);
  e.each([&](int i, int j) { ASSERT_EQ(e.got(i, j), std::max(0.0f, e.pre(i, j))); });
  e.desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(e.mask.data()));
  e.desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{EpilogueCase::kAuxLd});
  e.run(CUBLASLT_EPILOGUE_RELU_AUX_BIAS, e.x);
  e.each([&](int i, int j) {
    int const bit = i + j * EpilogueCase::kAuxLd;
    ASSERT_EQ(e.mask[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & 1, e.pre(i, j) > 0);
  });
  // Backward: the incoming gradient is x itself.
  e.desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(e.grad.data()));
  e.run(CUBLASLT_EPILOGUE_DRELU_BGRAD, e.x);
  std::vector<float> expected(EpilogueCase::kRows);
  e.each([&](int i, int j) {
    float const slope = e.pre(i, j) > 0 ? e.x[static_cast<std::size_t>(i + j * EpilogueCase::kRows)] : 0;
    ASSERT_EQ(e.got(i, j), slope);
    expected[static_cast<std::size_t>(i)] += slope;
  });
  EXPECT_EQ(e.grad, expected);
}

TEST(LtEpilogue, GeluWithAuxAndItsGradient) {
  EpilogueCase e;
  e.desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(e.bias.data()));
  e.desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(e.aux.data()));
  e.desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{16});
  e.run(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, e.x);
  e.each([&](int i, int j) {
    ASSERT_EQ(e.aux[static_cast<std::size_t>(i + j * 16)], e.pre(i, j));
    ASSERT_NEAR(e.got(i, j), gelu(e.pre(i, j)), 1e-6);
  });
  e.desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(e.grad.data()));
  e.run(CUBLASLT_EPILOGUE_DGELU_BGRAD, e.x);
  std::vector<double> expected(EpilogueCase::kRows);
  e.each([&](int i, int j) {
    double const slope = e.x[static_cast<std::size_t>(i + j * EpilogueCase::kRows)] * gelu_slope(e.pre(i, j));
    ASSERT_NEAR(e.got(i, j), slope, 1e-5);
    expected[static_cast<std::size_t>(i)] += slope;
  });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(e.grad[i], expected[i], 1e-4);
  e.run(CUBLASLT_EPILOGUE_DGELU, e.x);
  e.run(CUBLASLT_EPILOGUE_GELU, e.x);
  e.each([&](int i, int j) {
    ASSERT_NEAR(e.got(i, j), gelu(e.x[static_cast<std::size_t>(i + j * EpilogueCase::kRows)]), 1e-6);
  });
}

TEST(LtEpilogue, InputGradientsSumOverDepth) {
  LtHandle handle;
  Random random(4);
  int const m = 6, n = 4, k = 5;
  auto const a = random.vector<float>(m * k), b = random.vector<float>(k * n);
  std::vector<float> d(m * n), grad(m, NAN);
  MatrixLayout la(CUDA_R_32F, k, m, k), lb(CUDA_R_32F, k, n, k), ld(CUDA_R_32F, m, n, m);
  Desc desc;
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(CUBLAS_OP_T));
  desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(grad.data()));
  desc.epilogue(CUBLASLT_EPILOGUE_BGRADA);
  BLAS_OK(matmul(handle.h, desc, 1, a.data(), la, b.data(), lb, 0, d.data(), ld, d.data(), ld));
  for (int i = 0; i < m; ++i) {
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += a[static_cast<std::size_t>(p + i * k)];
    EXPECT_EQ(grad[static_cast<std::size_t>(i)], sum);
  }
  desc.epilogue(CUBLASLT_EPILOGUE_BGRADB);
  BLAS_OK(matmul(handle.h, desc, 1, a.data(), la, b.data(), lb, 0, d.data(), ld, d.data(), ld));
  for (int j = 0; j < n; ++j) {
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += b[static_cast<std::size_t>(p + j * k)];
    EXPECT_EQ(grad[static_cast<std::size_t>(j)], sum);
  }
}

TEST(LtEpilogue, HalfIsRoundedAfterTheEpilogueAndRowOrderKeepsRows) {
  namespace b = tidemark::softgpu::blas;
  LtHandle handle;
  int const m = 3, n = 2, k = 2;
  auto const half = [](std::vector<float> v) {
    std::vector<std::uint16_t> out(v.size());
    b::narrow(CUDA_R_16F, v.data(), out.data(), v.size());
    return out;
  };
  auto const a = half({1, 0, 0, 1, 1, 1}), x = half({1024, 1, 2, 3}), bias = half({1025, -0.5, 0.25});
  std::vector<std::uint16_t> d(m * n);
  MatrixLayout la(CUDA_R_16F, m, k, k, CUBLASLT_ORDER_ROW), lb(CUDA_R_16F, k, n, n, CUBLASLT_ORDER_ROW),
      ld(CUDA_R_16F, m, n, n, CUBLASLT_ORDER_ROW);
  Desc desc;
  desc.epilogue(CUBLASLT_EPILOGUE_BIAS);
  desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.data()));
  BLAS_OK(matmul(handle.h, desc, 1, a.data(), la, x.data(), lb, 0, d.data(), ld, d.data(), ld));
  // Rows: (1024, 1) + 1025; (2, 3) - 0.5; (1026, 4) + 0.25. 2049 is a tie in fp16 and goes to 2048.
  EXPECT_EQ(d, half({2048, 1026, 1.5, 2.5, 1026, 4.25}));
}

TEST(LtMatmul, BadArgumentsAreRefused) {
  LtHandle handle;
  Desc desc;
  MatrixLayout a(CUDA_R_32F, 4, 3, 4), b(CUDA_R_32F, 3, 2, 3), d(CUDA_R_32F, 4, 2, 4), bad(CUDA_R_32F, 5, 2, 5);
  std::vector<float> x(64);
  EXPECT_EQ(matmul(nullptr, desc, 1, x.data(), a, x.data(), b, 0, x.data(), d, x.data(), d),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(matmul(handle.h, desc, 1, x.data(), bad, x.data(), b, 0, x.data(), d, x.data(), d),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(matmul(handle.h, desc, 1, nullptr, a, x.data(), b, 0, x.data(), d, x.data(), d),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(matmul(handle.h, desc, 1, x.data(), a, x.data(), b, 1, nullptr, d, x.data(), d),
            CUBLAS_STATUS_INVALID_VALUE);
  desc.epilogue(CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(matmul(handle.h, desc, 1, x.data(), a, x.data(), b, 0, x.data(), d, x.data(), d),
            CUBLAS_STATUS_INVALID_VALUE);
  desc.epilogue(static_cast<cublasLtEpilogue_t>(3));
  EXPECT_EQ(matmul(handle.h, desc, 1, x.data(), a, x.data(), b, 0, x.data(), d, x.data(), d),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(fake::state().queued.empty());
}

TEST(LtMatmul, ACublasHandleServesToo) {
  Handle handle;
  Desc desc;
  MatrixLayout one(CUDA_R_32F, 1, 1, 1);
  float const a = 3, b = 4;
  float d = 0;
  BLAS_OK(matmul(reinterpret_cast<cublasLtHandle_t>(handle.h), desc, 1, &a, one, &b, one, 0, &d, one, &d, one));
  EXPECT_EQ(d, 12);
}

TEST(LtTransform, MovesBetweenOrdersAndTypes) {
  LtHandle handle;
  cublasLtMatrixTransformDescOpaque_t desc;
  BLAS_OK(cublasLtMatrixTransformDescInit(&desc, CUDA_R_32F));
  std::vector<float> const a = {1, 2, 3, 4, 5, 6};
  std::vector<std::int8_t> c(6);
  MatrixLayout from(CUDA_R_32F, 2, 3, 2), to(CUDA_R_8I, 2, 3, 3, CUBLASLT_ORDER_ROW);
  float const two = 2, zero = 0;
  BLAS_OK(
      cublasLtMatrixTransform(handle.h, &desc, &two, a.data(), from, &zero, nullptr, nullptr, c.data(), to, nullptr));
  EXPECT_EQ(c, (std::vector<std::int8_t>{2, 6, 10, 4, 8, 12}));
}

}  // namespace
}  // namespace blas_test
