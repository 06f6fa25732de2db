// SPDX-License-Identifier: Apache-2.0
// A card that looks smaller than it is. The limit is 1 GiB of a card of 4 GiB, and a context takes 300 MiB; the library
// is preloaded, and softgpu keeps its own books. Where memory is served, what is cached counts as free for CUDA and as
// given for NVML: it is what they differ by, so without it they agree.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nvml.h>
#include <tidemark/tidemark.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "softgpu/interface/softgpu.h"

namespace tidemark::doors {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kLimit = 1024 * kMiB, kContext = 300 * kMiB;

// What the device has given to this process, by its own books.
std::uint64_t given() {
  static auto const ask =
      reinterpret_cast<decltype(&softgpu_device_info)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "softgpu_device_info"));
  SoftgpuDeviceInfo info{};
  EXPECT_EQ(ask(0, &info), 0);
  return info.process_bytes;
}

bool is_served() {
  const char* const mode = std::getenv("TIDEMARK_MODE");
  return mode == nullptr || std::strcmp(mode, "observe") != 0;
}

struct Seen {
  std::size_t free = 0, total = 0;
};
Seen seen() {
  Seen s;
  EXPECT_EQ(cudaMemGetInfo(&s.free, &s.total), cudaSuccess);
  return s;
}

class Limit : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    ASSERT_EQ(given(), kContext) << "an earlier test left something behind";
  }
  void TearDown() override {
    for (void* const block : blocks_) EXPECT_EQ(cudaFree(block), cudaSuccess);
    cudaDeviceSynchronize();
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  }
  cudaError_t take(std::size_t bytes) {
    void* block = nullptr;
    cudaError_t const result = cudaMalloc(&block, bytes);
    EXPECT_LE(given(), kLimit);
    if (result == cudaSuccess) blocks_.push_back(block);
    return result;
  }
  void give_back() {
    EXPECT_EQ(cudaFree(blocks_.back()), cudaSuccess);
    blocks_.pop_back();
  }
  // Those that a block lies in.
  std::size_t frames() const {
    std::set<std::uint64_t> found;
    for (void* const block : blocks_) {
      CUdeviceptr begin = 0;
      std::size_t bytes = 0;
      EXPECT_EQ(cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(block)), CUDA_SUCCESS);
      for (std::uint64_t at = begin / (2 * kMiB); at <= (begin + bytes - 1) / (2 * kMiB); ++at) found.insert(at);
    }
    return found.size();
  }
  std::vector<void*> blocks_;
};

TEST_F(Limit, TheDriverSaysWhatTheRuntimeAndNvmlSay) {
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  nvmlDevice_t card{};
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &card), NVML_SUCCESS);
  auto* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  auto const looked_up =
      reinterpret_cast<decltype(&nvmlDeviceGetMemoryInfo)>(dlsym(library, "nvmlDeviceGetMemoryInfo"));
  // The second door has no dlsym, and so no say in what is looked up in NVML's own library.
  std::vector<decltype(&nvmlDeviceGetMemoryInfo)> ways{&nvmlDeviceGetMemoryInfo};
  if (std::getenv("DOORS_SONAME") == nullptr) ways.push_back(looked_up);
  auto const agree = [&] {
    tidemark_empty_cache();
    Seen const runtime = seen();
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, runtime.free);
    EXPECT_EQ(total, runtime.total);
    EXPECT_EQ(total, kLimit);
    for (auto const ask : ways) {
      nvmlMemory_t memory{};
      EXPECT_EQ(ask(card, &memory), NVML_SUCCESS);
      EXPECT_EQ(memory.total, kLimit);
      EXPECT_EQ(memory.free, runtime.free);
      EXPECT_EQ(memory.used, kLimit - runtime.free);
    }
    nvmlMemory_v2_t memory{.version = nvmlMemory_v2};
    EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(card, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, kLimit);
    EXPECT_EQ(memory.free, runtime.free);
    EXPECT_EQ(memory.used + memory.reserved, kLimit - runtime.free);
    EXPECT_EQ(runtime.free, kLimit - given());
  };
  agree();
  EXPECT_EQ(take(100 * kMiB), cudaSuccess);
  agree();
  EXPECT_EQ(take(1), cudaSuccess);
  agree();
  give_back();
  agree();
}

TEST_F(Limit, TheCardsPropertiesAgree) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.totalGlobalMem, kLimit);
  std::size_t total = 0;
  EXPECT_EQ(cuDeviceTotalMem(&total, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, kLimit);
  auto const looked_up = reinterpret_cast<decltype(&cudaGetDeviceProperties)>(
      dlsym(dlopen("libcudart.so.13", RTLD_NOW), "cudaGetDeviceProperties"));
  ASSERT_EQ(looked_up(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.totalGlobalMem, kLimit);
}

TEST_F(Limit, TheLastByteThatFitsIsServedAndNoneMore) {
  EXPECT_EQ(take(seen().free), cudaSuccess);
  EXPECT_EQ(given(), kLimit);
  EXPECT_EQ(seen().free, 0u);
  EXPECT_EQ(take(1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  give_back();
  EXPECT_EQ(take(seen().free + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(take(kLimit - kContext), cudaSuccess);
}

TEST_F(Limit, InLargeSteps) {
  int served = 0;
  while (take(64 * kMiB) == cudaSuccess) ++served;
  EXPECT_EQ(served, 11);  // 724 MiB beside the context
  EXPECT_EQ(seen().free, 20 * kMiB);
  EXPECT_EQ(take(20 * kMiB), cudaSuccess);
  EXPECT_EQ(take(1), cudaErrorMemoryAllocation);
}

TEST_F(Limit, InSmallSteps) {
  EXPECT_EQ(take(seen().free - 8 * kMiB), cudaSuccess);
  std::uint64_t sum = 0;
  for (std::size_t bytes = 1; take(bytes) == cudaSuccess; bytes = bytes % 40'000 + 997) sum += bytes;
  EXPECT_LE(sum, 8 * kMiB);
  EXPECT_EQ(given(), kLimit) << "the device's granules are all given, and the next one would be one too many";
  for (int i = 0; i < 100; ++i) give_back();
  EXPECT_EQ(take(1), cudaSuccess);
}

TEST_F(Limit, InRandomSteps) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    if (random() % 3 == 0 && !blocks_.empty()) {
      std::swap(blocks_[random() % blocks_.size()], blocks_.back());
      give_back();
      continue;
    }
    std::uint64_t const before = given();
    std::size_t const bytes = 1 + random() % (random() % 2 == 0 ? 64 * kMiB : 64 << 10);
    // The device gives whole granules of 2 MiB; what would pass the limit is refused, and what does not is served.
    if (take(bytes) == cudaSuccess) continue;
    EXPECT_GT(before + round_up(bytes, 2 * kMiB), kLimit) << bytes;
    tidemark_empty_cache();
    EXPECT_EQ(given(), is_served() ? kContext + frames() * 2 * kMiB : before);
  }
}

TEST_F(Limit, ManyThreadsAtTheLimit) {
  // Each takes and gives back the one block that fits; a refusal is right only while another has it.
  std::size_t const bytes = 64 * kMiB;
  EXPECT_EQ(take(seen().free - bytes), cudaSuccess);
  std::atomic<int> holders{0}, served{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        void* block = nullptr;
        cudaError_t const result = cudaMalloc(&block, bytes);
        if (result != cudaSuccess) {
          EXPECT_EQ(result, cudaErrorMemoryAllocation);
          continue;
        }
        int const now = ++holders;
        for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
        }
        ++served;
        --holders;
        EXPECT_EQ(cudaFree(block), cudaSuccess);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(served, 8);
  EXPECT_LE(given(), kLimit);
}

// With room for exactly eight, eight threads all get theirs, however they meet.
TEST_F(Limit, NoThreadIsRefusedForWhatAnotherGivesBack) {
  std::size_t const bytes = 2 * kMiB;
  EXPECT_EQ(take(seen().free - 8 * bytes), cudaSuccess);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    std::vector<void*> got(8);
    for (std::size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        ++ready;
        while (ready < 8) std::this_thread::yield();
        EXPECT_EQ(cudaMalloc(&got[t], bytes), cudaSuccess);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(take(1), cudaErrorMemoryAllocation);
    for (void* const block : got) EXPECT_EQ(cudaFree(block), cudaSuccess);
  }
}

TEST_F(Limit, StreamOrderedMemoryIsHeldToIt) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<void*> got;
  for (;;) {
    void* block = nullptr;
    cudaError_t const result = cudaMallocAsync(&block, 50 * kMiB, stream);
    ASSERT_LE(given(), kLimit);
    if (result != cudaSuccess) {
      EXPECT_EQ(result, cudaErrorMemoryAllocation);
      break;
    }
    got.push_back(block);
  }
  EXPECT_GE(got.size(), 13u);  // 724 MiB, as far as the pool's own steps let it
  // A pool's memory serves again and takes nothing new.
  EXPECT_EQ(cudaFreeAsync(got.back(), stream), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&got.back(), 50 * kMiB, stream), cudaSuccess);
  for (void* const block : got) EXPECT_EQ(cudaFreeAsync(block, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// A pool that gives nothing back of its own accord, of the program's own and the device's.
TEST_F(Limit, APoolThatKeepsEverythingIsHeldToIt) {
  cudaMemPool_t made = nullptr, standard = nullptr;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  ASSERT_EQ(cudaMemPoolCreate(&made, &properties), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&standard, 0), cudaSuccess);
  std::uint64_t threshold = ~std::uint64_t{0};
  for (cudaMemPool_t const pool : {made, standard}) {
    ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
    std::vector<void*> got;
    void* block = nullptr;
    while (got.size() < 100 && cudaMallocFromPoolAsync(&block, 100 * kMiB, pool, nullptr) == cudaSuccess) {
      got.push_back(block);
      ASSERT_LE(given(), kLimit);
    }
    EXPECT_EQ(got.size(), 7u);
    EXPECT_LE(given(), kLimit);
    EXPECT_EQ(cudaMallocAsync(&block, 100 * kMiB, nullptr), cudaErrorMemoryAllocation);
    EXPECT_LE(given(), kLimit);
    for (void* const one : got) EXPECT_EQ(cudaFreeAsync(one, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_GE(given(), kContext + 700 * kMiB) << "it keeps what it has";
    ASSERT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    threshold = 0;
    ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
    threshold = ~std::uint64_t{0};
  }
  ASSERT_EQ(cudaMemPoolDestroy(made), cudaSuccess);
}

TEST_F(Limit, PhysicalMemoryIsHeldToIt) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  std::vector<CUmemGenericAllocationHandle> got;
  for (;;) {
    CUmemGenericAllocationHandle block = 0;
    CUresult const result = cuMemCreate(&block, 32 * kMiB, &properties, 0);
    ASSERT_LE(given(), kLimit);
    if (result != CUDA_SUCCESS) {
      EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
      break;
    }
    got.push_back(block);
  }
  EXPECT_EQ(got.size(), 22u);
  EXPECT_EQ(seen().free, 20 * kMiB);
  for (auto const block : got) EXPECT_EQ(cuMemRelease(block), CUDA_SUCCESS);
}

// It needs no current context: its properties say where it is.
TEST_F(Limit, PhysicalMemoryOfAThreadWithoutAContextIsHeldToIt) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  std::thread([&] {
    std::vector<CUmemGenericAllocationHandle> got;
    CUmemGenericAllocationHandle block = 0;
    while (got.size() < 100 && cuMemCreate(&block, 32 * kMiB, &properties, 0) == CUDA_SUCCESS) got.push_back(block);
    EXPECT_EQ(got.size(), 22u);
    EXPECT_LE(given(), kLimit);
    for (auto const one : got) EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
  }).join();
}

TEST_F(Limit, PhysicalMemoryOfAnotherDeviceIsHeldToIt) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};  // device 0 is current
  std::vector<CUmemGenericAllocationHandle> got;
  CUmemGenericAllocationHandle block = 0;
  while (got.size() < 100 && cuMemCreate(&block, 64 * kMiB, &properties, 0) == CUDA_SUCCESS) got.push_back(block);
  EXPECT_EQ(got.size(), 16u);  // no context is there yet
  for (auto const one : got) EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
}

TEST_F(Limit, ArraysAreHeldToIt) {
  EXPECT_EQ(take(seen().free - 64 * kMiB), cudaSuccess);
  cudaChannelFormatDesc const format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  std::vector<cudaArray_t> got;
  for (;;) {
    cudaArray_t array = nullptr;
    cudaError_t const result = cudaMallocArray(&array, &format, 1024, 1024);  // 4 MiB
    ASSERT_LE(given(), kLimit);
    if (result != cudaSuccess) {
      EXPECT_EQ(result, cudaErrorMemoryAllocation);
      break;
    }
    got.push_back(array);
  }
  EXPECT_GE(got.size(), 8u);
  EXPECT_LE(got.size(), 16u);
  for (cudaArray_t const array : got) EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST_F(Limit, HostAndManagedMemoryIsNotTheCards) {
  void *pinned = nullptr, *managed = nullptr;
  EXPECT_EQ(take(seen().free), cudaSuccess);
  EXPECT_EQ(cudaMallocHost(&pinned, 16 * kMiB), cudaSuccess);
  EXPECT_EQ(cudaMallocManaged(&managed, 16 * kMiB), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST_F(Limit, NullPointersAndZeroBytesAreCudasBusiness) {
  EXPECT_EQ(cuMemGetInfo(nullptr, nullptr), CUDA_SUCCESS);  // OptiX asks like that
  std::size_t free = 7;
  EXPECT_EQ(cuMemGetInfo(&free, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(free, kLimit - kContext);
  CUdeviceptr block = 0;
  EXPECT_EQ(cuMemAlloc(&block, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(&block, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Limit, AContextOfTheProgramsOwnCountsToo) {
  CUcontext context = nullptr;
  EXPECT_EQ(take(2 * kMiB), cudaSuccess);
  ASSERT_EQ(cuCtxCreate(&context, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(given(), 2 * kContext + 2 * kMiB);
  EXPECT_EQ(seen().free, kLimit - given());
  ASSERT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(seen().free, kLimit - kContext - 2 * kMiB);
  EXPECT_EQ(take(seen().free), cudaSuccess);
}

TEST_F(Limit, AfterAResetThereIsRoomAgain) {
  EXPECT_EQ(take(seen().free), cudaSuccess);
  blocks_.clear();
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(seen().free, kLimit - kContext);
  EXPECT_EQ(take(seen().free), cudaSuccess);
  EXPECT_EQ(take(1), cudaErrorMemoryAllocation);
}

}  // namespace
}  // namespace tidemark::doors
