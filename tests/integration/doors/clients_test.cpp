// SPDX-License-Identifier: Apache-2.0
// One test for each way in which programs come to CUDA: each block is seen, once. On the software device, with either
// door.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tests/integration/doors/own_trace.h"
#include "tests/integration/doors/process.h"

extern "C" cudaError_t cudaMallocAsync_ptsz(void** out, size_t bytes, cudaStream_t stream);
extern "C" cudaError_t cudaFreeAsync_ptsz(void* block, cudaStream_t stream);

namespace tidemark::doors {
namespace {

using Alloc = CUresult (*)(CUdeviceptr*, size_t);
using Free = CUresult (*)(CUdeviceptr);
using Ask = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

class Clients : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaFree(nullptr), cudaSuccess); }

  // Takes a block of a size of its own, gives it back, and looks for both in the trace.
  template <class Take, class GiveBack>
  void expect_seen_once(Take take, GiveBack give_back) {
    static std::size_t bytes = 100'000;
    ++bytes;
    std::uint64_t const block = take(bytes);
    ASSERT_NE(block, 0u);
    OwnTrace const with = read_own_trace();
    std::size_t found = 0;
    for (auto const& [name, event] : with.live) found += event.size_bytes == bytes ? 1 : 0;
    EXPECT_EQ(found, 1u);
    ASSERT_NE(with.find(trace::Space::Memory, block), nullptr);
    EXPECT_EQ(with.find(trace::Space::Memory, block)->size_bytes, bytes);
    give_back(block);
    OwnTrace const without = read_own_trace();
    EXPECT_EQ(without.find(trace::Space::Memory, block), nullptr);
    EXPECT_EQ(without.trouble, "");
    EXPECT_EQ(without.totals.allocations, without.totals.frees);
    EXPECT_EQ(without.lost, 0u);
  }
  void expect_seen_once(Alloc alloc, Free free) {
    ASSERT_NE(alloc, nullptr);
    ASSERT_NE(free, nullptr);
    expect_seen_once(
        [&](std::size_t bytes) {
          CUdeviceptr out = 0;
          EXPECT_EQ(alloc(&out, bytes), CUDA_SUCCESS);
          return std::uint64_t{out};
        },
        [&](std::uint64_t block) { EXPECT_EQ(free(block), CUDA_SUCCESS); });
  }
  void expect_runtime_seen_once(decltype(&cudaFree) free, cudaError_t (*alloc)(void**, size_t)) {
    ASSERT_NE(alloc, nullptr);
    ASSERT_NE(free, nullptr);
    expect_seen_once(
        [&](std::size_t bytes) {
          void* out = nullptr;
          EXPECT_EQ(alloc(&out, bytes), cudaSuccess);
          return reinterpret_cast<std::uint64_t>(out);
        },
        [&](std::uint64_t block) { EXPECT_EQ(free(reinterpret_cast<void*>(block)), cudaSuccess); });
  }
  template <class F>
  F look_up(const char* library, const char* symbol) {
    return reinterpret_cast<F>(dlsym(open_library(library), symbol));
  }
};

TEST_F(Clients, LinkedToTheDriver) {
  expect_seen_once(&cuMemAlloc, &cuMemFree);
}
TEST_F(Clients, LinkedToTheRuntime) {
  expect_runtime_seen_once(
      &cudaFree, +[](void** out, size_t bytes) { return cudaMalloc(out, bytes); });
}
TEST_F(Clients, ThePerThreadTwin) {
  expect_seen_once(
      [](std::size_t bytes) {
        void* out = nullptr;
        EXPECT_EQ(cudaMallocAsync_ptsz(&out, bytes, nullptr), cudaSuccess);
        return reinterpret_cast<std::uint64_t>(out);
      },
      [](std::uint64_t block) { EXPECT_EQ(cudaFreeAsync_ptsz(reinterpret_cast<void*>(block), nullptr), cudaSuccess); });
}
TEST_F(Clients, OpensTheDriverAndLooksUp) {
  expect_seen_once(look_up<Alloc>("libcuda.so.1", "cuMemAlloc_v2"), look_up<Free>("libcuda.so.1", "cuMemFree_v2"));
}
TEST_F(Clients, OpensTheDriverWithoutItsNumber) {
  expect_seen_once(look_up<Alloc>("libcuda.so", "cuMemAlloc_v2"), look_up<Free>("libcuda.so", "cuMemFree_v2"));
}
TEST_F(Clients, LooksUpInTheWholeProcess) {
  expect_seen_once(reinterpret_cast<Alloc>(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")),
                   reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "cuMemFree_v2")));
}
TEST_F(Clients, AsksTheDriverByNameAndVersion) {
  auto const ask = look_up<Ask>("libcuda.so.1", "cuGetProcAddress_v2");
  void *alloc = nullptr, *free = nullptr;
  ASSERT_EQ(ask("cuMemAlloc", &alloc, 13000, 0, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(ask("cuMemFree", &free, 13000, 0, nullptr), CUDA_SUCCESS);
  expect_seen_once(reinterpret_cast<Alloc>(alloc), reinterpret_cast<Free>(free));
}
TEST_F(Clients, AsksTheRuntimeForTheDriversFunctions) {
  void *alloc = nullptr, *free = nullptr;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemAlloc", &alloc, 12000, cudaEnableDefault, nullptr), cudaSuccess);
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemFree", &free, 12000, cudaEnableDefault, nullptr), cudaSuccess);
  expect_seen_once(reinterpret_cast<Alloc>(alloc), reinterpret_cast<Free>(free));
}
TEST_F(Clients, OpensTheRuntimeAndLooksUp) {
  expect_runtime_seen_once(look_up<decltype(&cudaFree)>("libcudart.so.13", "cudaFree"),
                           look_up<cudaError_t (*)(void**, size_t)>("libcudart.so.13", "cudaMalloc"));
}
// A name that is not hooked at all is the driver's own, whatever door there is.
TEST_F(Clients, FindsWhatIsNotHooked) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(look_up<decltype(&cuDeviceGetCount)>("libcuda.so.1", "cuDeviceGetCount")(&count), CUDA_SUCCESS);
  EXPECT_EQ(look_up<decltype(&cuDeviceGetCount)>("libcuda.so", "cuDeviceGetCount")(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_NE(look_up<void*>("libcuda.so.1", "softgpu_device_info"), nullptr);
}
// What is linked binds to the default version of an exported name; what asks for a version gets it.
TEST_F(Clients, VersionsOfExportedNames) {
  void* const ours = dlopen(std::getenv("TIDEMARK_TESTED"), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(ours, nullptr);
  EXPECT_EQ(dlvsym(ours, "cuMemAlloc_v2", "TIDEMARK_1"), plain_dlsym(ours, "cuMemAlloc_v2"));
  EXPECT_EQ(dlvsym(ours, "cudaMalloc", "libcudart.so.13"), plain_dlsym(ours, "cudaMalloc"));
  EXPECT_NE(dlvsym(ours, "cudaMalloc", "libcudart.so.12"), plain_dlsym(ours, "cudaMalloc"));
  EXPECT_EQ(dlvsym(ours, "cuMemAlloc_v2", "GLIBC_2.2.5"), nullptr);
  EXPECT_TRUE(is_hook(reinterpret_cast<void*>(&cuMemAlloc)));
  EXPECT_TRUE(is_hook(plain_dlsym(RTLD_DEFAULT, "tidemark_push")));
}

}  // namespace
}  // namespace tidemark::doors
