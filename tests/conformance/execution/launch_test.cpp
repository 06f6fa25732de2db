// SPDX-License-Identifier: Apache-2.0
// Kernel launches: shapes, arguments of every size, shared memory, and the launches that must be refused.
#include <cstring>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Launch : public Conformance {};

// As in kernels_body.h.
struct Record {
  std::uint32_t* p;
  std::uint8_t small;
  std::uint64_t n;
  std::uint16_t middle;
};

struct FillArguments {
  std::uint32_t* p;
  std::uint64_t n;
  std::uint32_t seed;
  void* pointers[3] = {&p, &n, &seed};
};

CUfunction fill_function() {
  cudaFunction_t function = nullptr;
  EXPECT_OK(cudaGetFuncBySymbol(&function, fill_kernel()));
  return function;
}

TEST_F(Launch, EveryThreadOfThreeDimensions) {
  NEEDS_VALUES();
  dim3 const grid(3, 2, 4), block(5, 3, 2);
  constexpr std::size_t kThreads = 24 * 30;
  DeviceBytes const device(kThreads * 4);
  std::uint32_t* p = device.words();
  void* arguments[] = {&p};
  ASSERT_OK(cudaLaunchKernel(write_place_kernel(), grid, block, arguments, 0, nullptr));
  std::vector<std::uint32_t> words(kThreads);
  ASSERT_OK(cudaMemcpy(words.data(), device.get(), kThreads * 4, cudaMemcpyDeviceToHost));
  for (std::uint32_t i = 0; i < kThreads; ++i) EXPECT_EQ(i + 1, words[i]);
}

TEST_F(Launch, ArgumentsAreCopiedAtTheCall) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 100;
  DeviceBytes const device(kWords * 4);
  FillArguments a{device.words(), kWords, 5};
  ASSERT_OK(cudaLaunchKernel(fill_kernel(), dim3(1), dim3(128), a.pointers, 0, nullptr));
  a.p = nullptr;
  a.n = ~std::uint64_t{0};
  a.seed = 77;
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 5));
}

TEST_F(Launch, StructuresKeepTheirLayout) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 70;
  DeviceBytes const device(kWords * 4);
  Record record{device.words(), 200, kWords, 4321};
  std::uint8_t last = 7;
  void* arguments[] = {&record, &last};
  ASSERT_OK(cudaLaunchKernel(use_record_kernel(), dim3(2), dim3(64), arguments, 0, nullptr));
  std::vector<std::uint32_t> words(kWords);
  ASSERT_OK(cudaMemcpy(words.data(), device.get(), kWords * 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(std::vector<std::uint32_t>(kWords, 200u + 4321000u + 700000000u), words);
}

TEST_F(Launch, TemplatesAreKernelsOfTheirOwn) {
  NEEDS_VALUES();
  std::vector<float> floats{1, 2, 3, 4};
  std::vector<std::uint64_t> longs{1, 2, 3, 4};
  DeviceBytes const a(16), b(32);
  ASSERT_OK(cudaMemcpy(a.get(), floats.data(), 16, cudaMemcpyHostToDevice));
  ASSERT_OK(cudaMemcpy(b.get(), longs.data(), 32, cudaMemcpyHostToDevice));
  void *pa = a.get(), *pb = b.get();
  std::uint64_t n = 4, factor = std::uint64_t{1} << 40;
  float half = 0.5f;
  void *float_arguments[] = {&pa, &n, &half}, *long_arguments[] = {&pb, &n, &factor};
  ASSERT_OK(cudaLaunchKernel(scale_float_kernel(), dim3(1), dim3(4), float_arguments, 0, nullptr));
  ASSERT_OK(cudaLaunchKernel(scale_u64_kernel(), dim3(1), dim3(4), long_arguments, 0, nullptr));
  ASSERT_OK(cudaMemcpy(floats.data(), a.get(), 16, cudaMemcpyDeviceToHost));
  ASSERT_OK(cudaMemcpy(longs.data(), b.get(), 32, cudaMemcpyDeviceToHost));
  EXPECT_EQ((std::vector<float>{0.5f, 1, 1.5f, 2}), floats);
  EXPECT_EQ((std::vector<std::uint64_t>{factor, 2 * factor, 3 * factor, 4 * factor}), longs);
}

TEST_F(Launch, DynamicSharedMemory) {
  NEEDS_VALUES();
  constexpr std::uint32_t kThreads = 256, kBlocks = 6;
  DeviceBytes const device(kThreads * kBlocks * 4);
  ASSERT_OK(launch_fill(device.words(), kThreads * kBlocks, 9, nullptr));
  std::uint32_t* p = device.words();
  void* arguments[] = {&p};
  ASSERT_OK(cudaLaunchKernel(reverse_kernel(), dim3(kBlocks), dim3(kThreads), arguments, kThreads * 4, nullptr));
  std::vector<std::uint32_t> words(kThreads * kBlocks);
  ASSERT_OK(cudaMemcpy(words.data(), device.get(), words.size() * 4, cudaMemcpyDeviceToHost));
  for (std::uint32_t b = 0; b < kBlocks; ++b)
    for (std::uint32_t t = 0; t < kThreads; ++t)
      ASSERT_EQ(expected_word(9, b * kThreads + kThreads - 1 - t), words[b * kThreads + t]);
}

TEST_F(Launch, RefusesBadShapes) {
  DeviceBytes const device(64);
  FillArguments a{device.words(), 16, 1};
  auto const attempt = [&](dim3 grid, dim3 block, std::size_t shared = 0) {
    return cudaLaunchKernel(fill_kernel(), grid, block, a.pointers, shared, nullptr);
  };
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(0), dim3(1)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1), dim3(0)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1, 1, 0), dim3(1)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1), dim3(1025)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1), dim3(32, 32, 2)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1), dim3(1, 1, 65)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1, 65536), dim3(1)));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, attempt(dim3(1, 1, 65536), dim3(1)));
  EXPECT_CUDA(cudaErrorInvalidValue, attempt(dim3(1), dim3(1), 512 * kKiB));
  EXPECT_OK(attempt(dim3(1), dim3(1024)));
  EXPECT_OK(attempt(dim3(1), dim3(1, 1, 64)));
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Launch, DriverRefusesBadShapes) {
  DeviceBytes const device(64);
  FillArguments a{device.words(), 16, 1};
  CUfunction const function = fill_function();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, nullptr, a.pointers, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 1, 0, 1, 0, nullptr, a.pointers, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, a.pointers, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 1u << 20, nullptr, a.pointers, nullptr));
}

TEST_F(Launch, RefusesWhatIsNoKernel) {
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&on_stack, dim3(1), dim3(1), nullptr, 0, nullptr));
  EXPECT_CUDA(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr));
  if (is_softgpu()) {
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(reinterpret_cast<CUfunction>(&on_stack), 1, 1, 1, 1, 1, 1, 0,
                                                          nullptr, nullptr, nullptr));
  }
}

TEST_F(Launch, ByPointersAndByPackedBuffer) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 300;
  DeviceBytes const device(kWords * 4);
  CUfunction const function = fill_function();
  FillArguments a{device.words(), kWords, 21};
  ASSERT_OK(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, a.pointers, nullptr));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 21));
  // The parameters as the compiler lays them out: each at a multiple of its own size.
  std::byte buffer[20];
  std::uint32_t const seed = 22;
  std::memcpy(buffer, &a.p, 8);
  std::memcpy(buffer + 8, &a.n, 8);
  std::memcpy(buffer + 16, &seed, 4);
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  ASSERT_OK(cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 22));
  // "CUDA_ERROR_INVALID_VALUE will be returned if kernel parameters are specified with both kernelParams and extra"
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, a.pointers, extra));
}

TEST_F(Launch, APackedBufferThatIsTooShortIsNotReadBeyond) {
  NEEDS_SOFTGPU();
  CUfunction const function = fill_function();
  std::byte buffer[12] = {};
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CUresult const result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra);
  EXPECT_TRUE(is_dry_run() ? result == CUDA_SUCCESS : result == CUDA_ERROR_INVALID_VALUE) << result;
}

TEST_F(Launch, WithAConfigurationAndAttributes) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 300;
  DeviceBytes const device(kWords * 4);
  FillArguments a{device.words(), kWords, 31};
  Stream const stream(cudaStreamNonBlocking);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_OK(cudaLaunchKernelExC(&config, fill_kernel(), a.pointers));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 31));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaLaunchKernelExC(nullptr, fill_kernel(), a.pointers));
  CUlaunchConfig driver{};
  driver.gridDimX = 3;
  driver.gridDimY = driver.gridDimZ = 1;
  driver.blockDimX = 128;
  driver.blockDimY = driver.blockDimZ = 1;
  driver.hStream = stream;
  a.seed = 32;
  ASSERT_OK(cuLaunchKernelEx(&driver, fill_function(), a.pointers, nullptr));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 32));
}

TEST_F(Launch, CooperativelyWhatFitsTheDevice) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 256;
  DeviceBytes const device(kWords * 4);
  FillArguments a{device.words(), kWords, 41};
  ASSERT_OK(cudaLaunchCooperativeKernel(fill_kernel(), dim3(2), dim3(128), a.pointers, 0, nullptr));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 41));
  // "the maximum blocks per multiprocessor ... times the number of multiprocessors"
  EXPECT_CUDA(cudaErrorCooperativeLaunchTooLarge,
              cudaLaunchCooperativeKernel(fill_kernel(), dim3(1 << 20), dim3(128), a.pointers, 0, nullptr));
}

TEST_F(Launch, OnlyIntoStreamsOfTheCurrentDevice) {
  NEEDS_DEVICES(2);
  NEEDS_SOFTGPU();
  Stream const stream;
  DeviceBytes const device(64);
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, launch_fill(device.words(), 16, 1, stream));
  ASSERT_OK(cudaSetDevice(0));
}

}  // namespace
}  // namespace conformance
