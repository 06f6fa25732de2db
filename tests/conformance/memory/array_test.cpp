// SPDX-License-Identifier: Apache-2.0
// Arrays: memory with a shape.
#include <cstring>

#include "tests/conformance/support/device.h"

namespace conformance {
namespace {

class Array : public Conformance {};

cudaChannelFormatDesc words() {
  return cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
}

TEST_F(Array, RowsGoInAndComeOut) {
  cudaArray_t array = nullptr;
  auto const format = words();
  ASSERT_OK(cudaMallocArray(&array, &format, 50, 20, 0));
  auto const bytes = noise(50 * 4 * 20, 3);
  ASSERT_OK(cudaMemcpy2DToArray(array, 0, 0, bytes.data(), 200, 200, 20, cudaMemcpyHostToDevice));
  std::vector<std::byte> back(bytes.size());
  ASSERT_OK(cudaMemcpy2DFromArray(back.data(), 200, array, 0, 0, 200, 20, cudaMemcpyDeviceToHost));
  EXPECT_EQ(bytes, back);
  // A window of it: x in bytes, y in rows.
  std::vector<std::byte> window(40 * 5);
  ASSERT_OK(cudaMemcpy2DFromArray(window.data(), 40, array, 16, 7, 40, 5, cudaMemcpyDeviceToHost));
  for (std::size_t y = 0; y < 5; ++y)
    EXPECT_EQ(0, std::memcmp(window.data() + y * 40, bytes.data() + (y + 7) * 200 + 16, 40)) << y;
  EXPECT_OK(cudaFreeArray(array));
}

TEST_F(Array, BoxesCountInElements) {
  cudaArray_t array = nullptr;
  auto const format = words();
  ASSERT_OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 6, 4), 0));
  auto const bytes = noise(8 * 4 * 6 * 4, 5);
  cudaMemcpy3DParms in{};
  in.srcPtr = make_cudaPitchedPtr(const_cast<std::byte*>(bytes.data()), 32, 8, 6);
  in.dstArray = array;
  in.extent = make_cudaExtent(8, 6, 4);  // "If a CUDA array is participating in the copy, the extent is in elements"
  in.kind = cudaMemcpyHostToDevice;
  ASSERT_OK(cudaMemcpy3D(&in));
  std::vector<std::byte> back(2 * 4 * 3 * 2);
  cudaMemcpy3DParms out{};
  out.srcArray = array;
  out.srcPos = make_cudaPos(5, 2, 1);
  out.dstPtr = make_cudaPitchedPtr(back.data(), 8, 2, 3);
  out.extent = make_cudaExtent(2, 3, 2);
  out.kind = cudaMemcpyDeviceToHost;
  ASSERT_OK(cudaMemcpy3D(&out));
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 3; ++y)
      EXPECT_EQ(0, std::memcmp(back.data() + (z * 3 + y) * 8, bytes.data() + ((z + 1) * 6 + y + 2) * 32 + 5 * 4, 8));
  EXPECT_OK(cudaFreeArray(array));
}

TEST_F(Array, CopiesToAnotherArray) {
  cudaArray_t a = nullptr, b = nullptr;
  auto const format = words();
  ASSERT_OK(cudaMallocArray(&a, &format, 16, 8, 0));
  ASSERT_OK(cudaMallocArray(&b, &format, 16, 8, 0));
  auto const bytes = noise(16 * 4 * 8, 9);
  ASSERT_OK(cudaMemcpy2DToArray(a, 0, 0, bytes.data(), 64, 64, 8, cudaMemcpyHostToDevice));
  ASSERT_OK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 64, 8, cudaMemcpyDeviceToDevice));
  std::vector<std::byte> back(bytes.size());
  ASSERT_OK(cudaMemcpy2DFromArray(back.data(), 64, b, 0, 0, 64, 8, cudaMemcpyDeviceToHost));
  EXPECT_EQ(bytes, back);
  EXPECT_OK(cudaFreeArray(a));
  EXPECT_OK(cudaFreeArray(b));
}

TEST_F(Array, KnowsItsShape) {
  cudaArray_t array = nullptr;
  auto const format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned);
  ASSERT_OK(cudaMallocArray(&array, &format, 33, 12, 0));
  cudaChannelFormatDesc seen{};
  cudaExtent extent{};
  unsigned flags = 1;
  ASSERT_OK(cudaArrayGetInfo(&seen, &extent, &flags, array));
  EXPECT_EQ(16, seen.x);
  EXPECT_EQ(16, seen.y);
  EXPECT_EQ(0, seen.z);
  EXPECT_EQ(cudaChannelFormatKindSigned, seen.f);
  EXPECT_EQ(33u, extent.width);
  EXPECT_EQ(12u, extent.height);
  EXPECT_EQ(0u, flags);
  EXPECT_OK(cudaFreeArray(array));
}

TEST_F(Array, TakesDeviceMemory) {
  std::size_t const before = memory_info().free_bytes;
  cudaArray_t array = nullptr;
  auto const format = words();
  ASSERT_OK(cudaMallocArray(&array, &format, 2048, 2048, 0));
  EXPECT_LE(memory_info().free_bytes + 16 * kMiB, before);
  EXPECT_OK(cudaFreeArray(array));
  EXPECT_GE(memory_info().free_bytes, before);
}

TEST_F(Array, RefusesBadArguments) {
  cudaArray_t array = nullptr;
  auto const format = words();
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocArray(nullptr, &format, 16, 16, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocArray(&array, nullptr, 16, 16, 0));
  EXPECT_NE(cudaSuccess, cudaMallocArray(&array, &format, 0, 16, 0));
  (void)cudaGetLastError();
  EXPECT_OK(cudaFreeArray(nullptr));  // "If array is 0, no operation is performed."
  ASSERT_OK(cudaMallocArray(&array, &format, 16, 4, 0));
  std::vector<std::byte> host(4096);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 4, 0, host.data(), 64, 64, 4, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 0, 1, host.data(), 64, 64, 4, cudaMemcpyHostToDevice));
  EXPECT_OK(cudaFreeArray(array));
}

TEST_F(Array, DriverArraysOfOneDimension) {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR const shape{.Width = 100, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
  ASSERT_OK(cuArrayCreate(&array, &shape));
  auto const bytes = noise(200, 2);
  std::vector<std::byte> back(200);
  EXPECT_OK(cuMemcpyHtoA(array, 40, bytes.data(), 200));
  EXPECT_OK(cuMemcpyAtoH(back.data(), array, 40, 200));
  EXPECT_EQ(bytes, back);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(array, 300, bytes.data(), 200));
  CUDA_ARRAY_DESCRIPTOR seen{};
  EXPECT_OK(cuArrayGetDescriptor(&seen, array));
  EXPECT_EQ(100u, seen.Width);
  EXPECT_EQ(CU_AD_FORMAT_FLOAT, seen.Format);
  EXPECT_OK(cuArrayDestroy(array));
}

TEST_F(Array, MipmappedArraysHaveLevels) {
  cudaMipmappedArray_t mipmapped = nullptr;
  auto const format = words();
  ASSERT_OK(cudaMallocMipmappedArray(&mipmapped, &format, make_cudaExtent(64, 32, 0), 3, 0));
  for (unsigned level = 0; level < 3; ++level) {
    cudaArray_t array = nullptr;
    cudaExtent extent{};
    ASSERT_OK(cudaGetMipmappedArrayLevel(&array, mipmapped, level));
    ASSERT_OK(cudaArrayGetInfo(nullptr, &extent, nullptr, array));
    EXPECT_EQ(64u >> level, extent.width);
    EXPECT_EQ(32u >> level, extent.height);
  }
  cudaArray_t array = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&array, mipmapped, 3));
  EXPECT_OK(cudaFreeMipmappedArray(mipmapped));
}

}  // namespace
}  // namespace conformance
