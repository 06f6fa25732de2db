// SPDX-License-Identifier: Apache-2.0
// Memory sets: widths of 1, 2 and 4 bytes, rows and boxes.
#include <cstring>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Set : public Conformance {};

TEST_F(Set, BytesTakeTheLowByteOfTheValue) {
  DeviceBytes const device(1000);
  ASSERT_OK(cudaMemset(device.get(), 0x1234, 1000));
  EXPECT_EQ(std::vector<std::byte>(1000, std::byte{0x34}), device.read());
}

TEST_F(Set, PartsLeaveTheRest) {
  DeviceBytes const device(1000);
  Stream const stream;
  ASSERT_OK(cudaMemset(device.get(), 1, 1000));
  ASSERT_OK(cudaMemsetAsync(device.get() + 11, 2, 77, stream));
  std::vector<std::byte> expected(1000, std::byte{1});
  std::fill_n(expected.begin() + 11, 77, std::byte{2});
  EXPECT_EQ(expected, device.read());
}

template <class T>
std::vector<std::byte> repeated(T value, std::size_t count) {
  std::vector<std::byte> out(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  return out;
}

TEST_F(Set, WiderElements) {
  DeviceBytes const device(4000);
  EXPECT_OK(cuMemsetD16(device.address(), 0xabcd, 2000));
  EXPECT_EQ(repeated<std::uint16_t>(0xabcd, 2000), device.read());
  EXPECT_OK(cuMemsetD32(device.address(), 0xdeadbeef, 1000));
  EXPECT_EQ(repeated<std::uint32_t>(0xdeadbeef, 1000), device.read());
  EXPECT_OK(cuMemsetD8(device.address(), 0x77, 4000));
  EXPECT_EQ(repeated<std::uint8_t>(0x77, 4000), device.read());
  EXPECT_OK(cuMemsetD32Async(device.address(), 5, 1000, nullptr));
  EXPECT_EQ(repeated<std::uint32_t>(5, 1000), device.read());
}

TEST_F(Set, Rows) {
  DeviceBytes const device(64 * 10);
  ASSERT_OK(cudaMemset(device.get(), 0, 640));
  ASSERT_OK(cudaMemset2D(device.get() + 64 + 4, 64, 9, 20, 5));
  std::vector<std::byte> expected(640);
  for (std::size_t y = 1; y < 6; ++y) std::fill_n(expected.begin() + static_cast<long>(y * 64 + 4), 20, std::byte{9});
  EXPECT_EQ(expected, device.read());
  EXPECT_OK(cuMemsetD2D32(device.address() + 8, 64, 0x01020304, 3, 2));
  std::uint32_t const word = 0x01020304;
  for (std::size_t y = 0; y < 2; ++y)
    for (std::size_t x = 0; x < 3; ++x) std::memcpy(expected.data() + y * 64 + 8 + x * 4, &word, 4);
  EXPECT_EQ(expected, device.read());
}

TEST_F(Set, Boxes) {
  cudaPitchedPtr pitched{};
  ASSERT_OK(cudaMalloc3D(&pitched, make_cudaExtent(30, 6, 4)));
  std::size_t const bytes = pitched.pitch * 6 * 4;
  ASSERT_OK(cudaMemset(pitched.ptr, 0, bytes));
  ASSERT_OK(cudaMemset3D(pitched, 3, make_cudaExtent(30, 2, 3)));
  std::vector<std::byte> host(bytes), expected(bytes);
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 2; ++y)
      std::fill_n(expected.begin() + static_cast<long>((z * 6 + y) * pitched.pitch), 30, std::byte{3});
  ASSERT_OK(cudaMemcpy(host.data(), pitched.ptr, bytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(expected, host);
  ASSERT_OK(cudaMemset3DAsync(pitched, 4, make_cudaExtent(30, 6, 4), nullptr));
  for (std::size_t row = 0; row < 24; ++row)
    std::fill_n(expected.begin() + static_cast<long>(row * pitched.pitch), 30, std::byte{4});
  ASSERT_OK(cudaMemcpy(host.data(), pitched.ptr, bytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(expected, host);
  EXPECT_OK(cudaFree(pitched.ptr));
}

TEST_F(Set, HostMemoryThatTheDeviceKnowsIsSetAtReturn) {
  // "Memset is asynchronous with respect to the host except when the target address refers to pinned host memory."
  PinnedBytes const pinned(512);
  std::memset(pinned.get(), 0, 512);
  ASSERT_OK(cudaMemset(pinned.get(), 6, 512));
  EXPECT_EQ(std::byte{6}, pinned.get()[511]);
}

TEST_F(Set, RefusesBadArguments) {
  DeviceBytes const device(4 * kMiB);
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(&on_stack, 0, 4));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 4));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(device.get() + 1, 0, 4 * kMiB));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(device.get() + 1, 0, ~std::size_t{0}));
  // "dstDevice ... must be two/four byte aligned" and the count is in elements.
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(device.address() + 1, 0, 4));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(device.address() + 2, 0, 4));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(device.address(), 0, kMiB + 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(device.address(), 0, std::size_t{1} << 62));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(device.address(), 0, (std::size_t{1} << 63) + 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8(device.address(), 64, 0, 64, std::size_t{1} << 58));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32(device.address(), 64, 0, std::size_t{1} << 62, 2));
  EXPECT_OK(cudaMemset(device.get(), 0, 0));
}

TEST_F(Set, RefusesFreedMemory) {
  void* p = nullptr;
  ASSERT_OK(cudaMalloc(&p, 1000));
  ASSERT_OK(cudaFree(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(p, 0, 1000));
}

TEST_F(Set, KeepsItsPlaceInTheStream) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 2048;
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kWords * 4);
  ASSERT_OK(cudaMemsetAsync(device.get(), 0xff, kWords * 4, stream));
  ASSERT_OK(launch_fill(device.words(), kWords, 4, stream));
  ASSERT_OK(cudaMemsetAsync(device.get(), 0, 4, stream));
  ASSERT_OK(launch_add(device.words(), kWords, 1, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  std::vector<std::uint32_t> words(kWords);
  ASSERT_OK(cudaMemcpy(words.data(), device.get(), kWords * 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(1u, words[0]);
  words[0] = expected_word(4, 0) + 1;
  EXPECT_EQ(0u, wrong_words(words, 4, 1));
}

}  // namespace
}  // namespace conformance
