// SPDX-License-Identifier: Apache-2.0
// OpenBLAS, opened when the first handle is made and never in dry run: its mere loading starts a thread per core. Its
// functions are asked of its own handle, so that another BLAS in the program (numpy's, MKL) is neither used nor
// shadowed.
#pragma once
#include <cblas.h>

#include <string>

#include "softgpu/blas/element.h"

namespace tidemark::softgpu::blas {

// `threads` is what it computes with, unless SOFTGPU_BLAS_THREADS says otherwise. True when it is there; any thread.
bool open_openblas(int threads);
std::string openblas_error();
void set_openblas_threads(int threads);
// What it computes with; work of our own around it (conversions) takes as many.
int openblas_threads();
void* openblas_symbol(const char* name);

// How arguments are written in CBLAS: options as its enums, complex scalars by address.
inline CBLAS_TRANSPOSE pass(cublasOperation_t op) {
  switch (op) {
    case CUBLAS_OP_N: return CblasNoTrans;
    case CUBLAS_OP_T: return CblasTrans;
    case CUBLAS_OP_CONJG: return CblasConjNoTrans;
    default: return CblasConjTrans;
  }
}
inline CBLAS_UPLO pass(cublasFillMode_t fill) {
  return fill == CUBLAS_FILL_MODE_UPPER ? CblasUpper : CblasLower;
}
inline CBLAS_DIAG pass(cublasDiagType_t diag) {
  return diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;
}
inline CBLAS_SIDE pass(cublasSideMode_t side) {
  return side == CUBLAS_SIDE_RIGHT ? CblasRight : CblasLeft;
}
inline const void* pass(const Complex32& value) {
  return &value;
}
inline const void* pass(const Complex64& value) {
  return &value;
}
template <class T>
T pass(const T& value) {
  return value;
}

// cblas(axpy<T>(), n, alpha, x, incx, y, incy)
template <class F, class... Args>
auto cblas(F* function, const Args&... args) {
  return function(pass(args)...);
}

#define SOFTGPU_CBLAS(name)                                                                                   \
  [] {                                                                                                        \
    static auto* const function = reinterpret_cast<decltype(&cblas_##name)>(openblas_symbol("cblas_" #name)); \
    return function;                                                                                          \
  }()

// A routine in four, two real, or two complex types.
#define SOFTGPU_CBLAS_ALL(family, s, d, c, z)        \
  template <class T>                                 \
  auto* family() {                                   \
    if constexpr (std::is_same_v<T, float>)          \
      return SOFTGPU_CBLAS(s);                       \
    else if constexpr (std::is_same_v<T, double>)    \
      return SOFTGPU_CBLAS(d);                       \
    else if constexpr (std::is_same_v<T, Complex32>) \
      return SOFTGPU_CBLAS(c);                       \
    else                                             \
      return SOFTGPU_CBLAS(z);                       \
  }
#define SOFTGPU_CBLAS_SDCZ(family) SOFTGPU_CBLAS_ALL(family, s##family, d##family, c##family, z##family)
#define SOFTGPU_CBLAS_PAIR(family, first_type, first, second) \
  template <class T>                                          \
  auto* family() {                                            \
    if constexpr (std::is_same_v<T, first_type>)              \
      return SOFTGPU_CBLAS(first);                            \
    else                                                      \
      return SOFTGPU_CBLAS(second);                           \
  }
#define SOFTGPU_CBLAS_SD(family) SOFTGPU_CBLAS_PAIR(family, float, s##family, d##family)
#define SOFTGPU_CBLAS_CZ(family) SOFTGPU_CBLAS_PAIR(family, Complex32, c##family, z##family)

namespace routine {
SOFTGPU_CBLAS_SDCZ(axpy)
SOFTGPU_CBLAS_SDCZ(copy)
SOFTGPU_CBLAS_SDCZ(scal)
SOFTGPU_CBLAS_SDCZ(swap)
SOFTGPU_CBLAS_SD(dot)
SOFTGPU_CBLAS_CZ(dotu_sub)
SOFTGPU_CBLAS_CZ(dotc_sub)
SOFTGPU_CBLAS_ALL(nrm2, snrm2, dnrm2, scnrm2, dznrm2)
SOFTGPU_CBLAS_SD(asum)
SOFTGPU_CBLAS_ALL(iamax, isamax, idamax, icamax, izamax)
SOFTGPU_CBLAS_ALL(iamin, isamin, idamin, icamin, izamin)
SOFTGPU_CBLAS_SDCZ(rotg)
SOFTGPU_CBLAS_SD(rotm)
SOFTGPU_CBLAS_SD(rotmg)
SOFTGPU_CBLAS_SDCZ(gemv)
SOFTGPU_CBLAS_SDCZ(gbmv)
SOFTGPU_CBLAS_SDCZ(trmv)
SOFTGPU_CBLAS_SDCZ(trsv)
SOFTGPU_CBLAS_SDCZ(tbmv)
SOFTGPU_CBLAS_SDCZ(tbsv)
SOFTGPU_CBLAS_SDCZ(tpmv)
SOFTGPU_CBLAS_SDCZ(tpsv)
SOFTGPU_CBLAS_SD(symv)
SOFTGPU_CBLAS_CZ(hemv)
SOFTGPU_CBLAS_SD(sbmv)
SOFTGPU_CBLAS_CZ(hbmv)
SOFTGPU_CBLAS_SD(spmv)
SOFTGPU_CBLAS_CZ(hpmv)
SOFTGPU_CBLAS_ALL(geru, sger, dger, cgeru, zgeru)
SOFTGPU_CBLAS_CZ(gerc)
SOFTGPU_CBLAS_SD(syr)
SOFTGPU_CBLAS_CZ(her)
SOFTGPU_CBLAS_SD(spr)
SOFTGPU_CBLAS_CZ(hpr)
SOFTGPU_CBLAS_SD(syr2)
SOFTGPU_CBLAS_CZ(her2)
SOFTGPU_CBLAS_SD(spr2)
SOFTGPU_CBLAS_CZ(hpr2)
SOFTGPU_CBLAS_SDCZ(gemm)
SOFTGPU_CBLAS_SDCZ(symm)
SOFTGPU_CBLAS_CZ(hemm)
SOFTGPU_CBLAS_SDCZ(syrk)
SOFTGPU_CBLAS_CZ(herk)
SOFTGPU_CBLAS_SDCZ(syr2k)
SOFTGPU_CBLAS_CZ(her2k)
SOFTGPU_CBLAS_SDCZ(trmm)
SOFTGPU_CBLAS_SDCZ(trsm)
}  // namespace routine

#undef SOFTGPU_CBLAS_ALL
#undef SOFTGPU_CBLAS_SDCZ
#undef SOFTGPU_CBLAS_PAIR
#undef SOFTGPU_CBLAS_SD
#undef SOFTGPU_CBLAS_CZ

}  // namespace tidemark::softgpu::blas
