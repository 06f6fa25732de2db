// SPDX-License-Identifier: Apache-2.0
// Device memory may end right before or behind a vector: nothing outside of it is touched, not even read.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

template <class T>
class Bounds : public ::testing::Test {};
TYPED_TEST_SUITE(Bounds, AllTypes);

// A vector between two pages without access, flush with one of them.
template <class T>
class Guarded {
 public:
  Guarded(std::size_t count, bool at_front) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(0, mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE));
    data_ = reinterpret_cast<T*>(at_front ? base_ + page_ : base_ + 2 * page_ - count * sizeof(T));
    std::fill_n(data_, count, T(1));
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, 3 * page_); }
  T* data() { return data_; }

 private:
  std::size_t page_;
  char* base_;
  T* data_;
};

auto dot_of(float) {
  return &cublasSdot;
}
auto dot_of(double) {
  return &cublasDdot;
}
auto dot_of(C32) {
  return &cublasCdotu;
}
auto dot_of(C64) {
  return &cublasZdotc;
}

TYPED_TEST(Bounds, VectorsOfEveryStrideStayInside) {
  using T = TypeParam;
  Handle handle;
  T const alpha(2);
  for (int n : {1, 2, 3, 7, 8, 33})
    for (int incx : {1, 2, -1, -3})
      for (int incy : {1, 3, -2})
        for (bool front : {true, false}) {
          SCOPED_TRACE(testing::Message() << n << ' ' << incx << ' ' << incy << ' ' << front);
          Guarded<T> x(static_cast<std::size_t>((n - 1) * std::abs(incx) + 1), front);
          Guarded<T> y(static_cast<std::size_t>((n - 1) * std::abs(incy) + 1), front);
          BLAS_OK(BLAS_TYPED(T, cublas, axpy)(handle, n, v(&alpha), v(x.data()), incx, v(y.data()), incy));
          BLAS_OK(BLAS_TYPED(T, cublas, swap)(handle, n, v(x.data()), incx, v(y.data()), incy));
          BLAS_OK(BLAS_TYPED(T, cublas, copy)(handle, n, v(x.data()), incx, v(y.data()), incy));
          T result{};
          BLAS_OK(dot_of(T())(handle, n, v(x.data()), incx, v(y.data()), incy, v(&result)));
          EXPECT_EQ(result, T(static_cast<float>(9 * n)));
          BLAS_OK(BLAS_TYPED(T, cublas, scal)(handle, n, v(&alpha), v(x.data()), std::abs(incx)));
        }
}

}  // namespace
}  // namespace blas_test
