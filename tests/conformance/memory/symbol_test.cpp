// SPDX-License-Identifier: Apache-2.0
// Variables of device code.
#include <array>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

// Free memory is not compared: a variable gets its place at its first use and keeps it.
class Symbol : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(cudaSetDevice(0)); }
  void TearDown() override {
    if (is_dry_run()) return;
    constexpr std::array<std::uint32_t, 8> kTable{1, 2, 3, 4, 5, 6, 7, 8};
    std::uint32_t const word = 17;
    EXPECT_OK(cudaMemcpyToSymbol(device_table_symbol(), kTable.data(), 32, 0, cudaMemcpyHostToDevice));
    EXPECT_OK(cudaMemcpyToSymbol(device_word_symbol(), &word, 4, 0, cudaMemcpyHostToDevice));
    EXPECT_OK(cudaDeviceSynchronize());
  }
};

TEST_F(Symbol, HasASizeAndAnAddress) {
  std::size_t bytes = 0;
  void* address = nullptr;
  EXPECT_OK(cudaGetSymbolSize(&bytes, device_table_symbol()));
  EXPECT_EQ(32u, bytes);
  EXPECT_OK(cudaGetSymbolAddress(&address, device_table_symbol()));
  EXPECT_NE(nullptr, address);
  cudaPointerAttributes attributes{};
  EXPECT_OK(cudaPointerGetAttributes(&attributes, address));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  void* again = nullptr;
  EXPECT_OK(cudaGetSymbolAddress(&again, device_table_symbol()));
  EXPECT_EQ(address, again);
}

TEST_F(Symbol, StartsWithItsInitialValue) {
  NEEDS_VALUES();
  std::array<std::uint32_t, 8> table{};
  ASSERT_OK(cudaMemcpyFromSymbol(table.data(), device_table_symbol(), 32, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ((std::array<std::uint32_t, 8>{1, 2, 3, 4, 5, 6, 7, 8}), table);
  std::array<std::uint32_t, 4> zero{9, 9, 9, 9}, constants{};
  ASSERT_OK(cudaMemcpyFromSymbol(zero.data(), untouched_symbol(), 16, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ((std::array<std::uint32_t, 4>{}), zero);
  ASSERT_OK(cudaMemcpyFromSymbol(constants.data(), constant_table_symbol(), 16, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ((std::array<std::uint32_t, 4>{10, 20, 30, 40}), constants);
}

TEST_F(Symbol, IsWrittenAndReadInParts) {
  std::array<std::uint32_t, 2> const in{70, 71};
  std::uint32_t out = 0;
  ASSERT_OK(cudaMemcpyToSymbol(device_table_symbol(), in.data(), 8, 12, cudaMemcpyHostToDevice));
  ASSERT_OK(cudaMemcpyFromSymbol(&out, device_table_symbol(), 4, 16, cudaMemcpyDeviceToHost));
  EXPECT_EQ(71u, out);
  Stream const stream;
  std::uint32_t const word = 99;
  ASSERT_OK(cudaMemcpyToSymbolAsync(device_word_symbol(), &word, 4, 0, cudaMemcpyHostToDevice, stream));
  ASSERT_OK(cudaMemcpyFromSymbolAsync(&out, device_word_symbol(), 4, 0, cudaMemcpyDeviceToHost, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(99u, out);
}

TEST_F(Symbol, IsSharedWithKernels) {
  NEEDS_VALUES();
  DeviceBytes const out(13 * 4);
  std::uint32_t const word = 123;
  ASSERT_OK(cudaMemcpyToSymbol(device_word_symbol(), &word, 4, 0, cudaMemcpyHostToDevice));
  ASSERT_OK(launch_read_symbols(out.words(), nullptr));
  std::array<std::uint32_t, 13> seen{};
  ASSERT_OK(cudaMemcpy(seen.data(), out.get(), sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT_EQ(1u, seen[0]);
  EXPECT_EQ(8u, seen[7]);
  EXPECT_EQ(40u, seen[11]);
  EXPECT_EQ(123u, seen[12]);
  ASSERT_OK(launch_write_symbols(500, nullptr));
  std::uint32_t back = 0;
  ASSERT_OK(cudaMemcpyFromSymbol(&back, device_table_symbol(), 4, 8, cudaMemcpyDeviceToHost));
  EXPECT_EQ(502u, back);
}

TEST_F(Symbol, RefusesBadArguments) {
  int on_stack = 0;
  void* address = nullptr;
  std::size_t bytes = 0;
  EXPECT_CUDA(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, &on_stack));
  EXPECT_CUDA(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, &on_stack));
  EXPECT_CUDA(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&on_stack, &on_stack, 4, 0, cudaMemcpyHostToDevice));
  // "The memory areas may not overlap"; beyond the variable's end:
  std::array<std::uint32_t, 16> host{};
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpyToSymbol(device_table_symbol(), host.data(), 64, 0, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpyToSymbol(device_table_symbol(), host.data(), 8, 28, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaMemcpyFromSymbol(host.data(), device_table_symbol(), 8, ~std::size_t{0} - 3, cudaMemcpyDeviceToHost));
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection,
              cudaMemcpyToSymbol(device_table_symbol(), host.data(), 8, 0, cudaMemcpyDeviceToHost));
}

}  // namespace
}  // namespace conformance
