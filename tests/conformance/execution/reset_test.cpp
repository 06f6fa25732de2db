// SPDX-License-Identifier: Apache-2.0
// cudaDeviceReset, each time in a process of its own.
#include <array>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Reset : public testing::Test {};

TEST_F(Reset, FreesEverythingAndTheDeviceIsUsableAgain) {
  in_child([&] {
    std::size_t const before = memory_info().free_bytes;
    void *p = nullptr, *host = nullptr, *managed = nullptr;
    cudaStream_t stream = nullptr;
    cudaArray_t array = nullptr;
    auto const format = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    EXPECT_OK(cudaMalloc(&p, 50 * kMiB));
    EXPECT_OK(cudaMallocHost(&host, 4096));
    EXPECT_OK(cudaMallocManaged(&managed, kMiB, cudaMemAttachGlobal));
    EXPECT_OK(cudaMallocArray(&array, &format, 1024, 1024, 0));
    EXPECT_OK(cudaStreamCreate(&stream));
    EXPECT_OK(cudaMemsetAsync(p, 1, 50 * kMiB, stream));
    EXPECT_OK(cudaDeviceReset());
    EXPECT_OK(cudaFree(nullptr));
    if (is_softgpu()) {
      EXPECT_EQ(before, memory_info().free_bytes);
      EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(p));
      EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    }
    DeviceBytes const device(4000);
    EXPECT_OK(launch_fill(device.words(), 1000, 3, nullptr));
    EXPECT_OK(cudaDeviceSynchronize());
    if (!is_dry_run()) {
      EXPECT_EQ(0u, wrong_on_device(device.words(), 1000, 3));
    }
  });
}

TEST_F(Reset, LeavesPoolMemory) {
  // "cudaDeviceReset() will not destroy memory allocations by cudaMallocAsync() and cudaMallocFromPoolAsync()."
  in_child([&] {
    void* p = nullptr;
    EXPECT_OK(cudaMallocAsync(&p, kMiB, nullptr));
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaDeviceReset());
    EXPECT_OK(cudaMemset(p, 9, kMiB));
    std::uint8_t last = 0;
    EXPECT_OK(cudaMemcpy(&last, static_cast<std::byte*>(p) + kMiB - 1, 1, cudaMemcpyDeviceToHost));
    EXPECT_EQ(9, last);
    EXPECT_OK(cudaFreeAsync(p, nullptr));
    EXPECT_OK(cudaDeviceSynchronize());
  });
}

TEST_F(Reset, BringsInitialValuesBack) {
  NEEDS_VALUES();
  in_child([&] {
    std::uint32_t word = 1000;
    EXPECT_OK(cudaMemcpyToSymbol(device_word_symbol(), &word, 4, 0, cudaMemcpyHostToDevice));
    EXPECT_OK(launch_write_symbols(77, nullptr));
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaDeviceReset());
    EXPECT_OK(cudaMemcpyFromSymbol(&word, device_word_symbol(), 4, 0, cudaMemcpyDeviceToHost));
    EXPECT_EQ(17u, word);
    DeviceBytes const out(13 * 4);
    EXPECT_OK(launch_read_symbols(out.words(), nullptr));
    std::array<std::uint32_t, 13> seen{};
    EXPECT_OK(cudaMemcpy(seen.data(), out.get(), sizeof seen, cudaMemcpyDeviceToHost));
    EXPECT_EQ(1u, seen[0]);
    EXPECT_EQ(17u, seen[12]);
  });
}

TEST_F(Reset, ManyTimes) {
  in_child([&] {
    std::size_t const before = memory_info().free_bytes;
    for (int i = 0; i < 20; ++i) {
      void* p = nullptr;
      EXPECT_OK(cudaMalloc(&p, 3 * kMiB));
      EXPECT_OK(cudaMemset(p, 1, 3 * kMiB));
      EXPECT_OK(cudaDeviceReset());
    }
    EXPECT_OK(cudaFree(nullptr));
    if (is_softgpu()) {
      EXPECT_EQ(before, memory_info().free_bytes);
    }
  });
}

}  // namespace
}  // namespace conformance
