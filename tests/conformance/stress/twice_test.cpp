// SPDX-License-Identifier: Apache-2.0
// Two threads destroy the same thing at once: one of them does, the other is told, and nothing breaks. A real driver
// promises no such thing, so this is for the software device alone.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/conformance/support/device.h"

namespace conformance {
namespace {

constexpr std::size_t kBytes = 64 * kKiB;
constexpr const char* kPtx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

struct Kind {
  const char* name;
  void* (*make)();
  bool (*destroy)(void*);
  void (*give_back)(void*) = nullptr;  // what is the program's own
};

void* device_memory() {
  void* p = nullptr;
  EXPECT_OK(cudaMalloc(&p, kBytes));
  return p;
}

void* pool_memory() {
  void* p = nullptr;
  EXPECT_OK(cudaMallocAsync(&p, kBytes, cudaStreamLegacy));
  return p;
}

bool ok(cudaError_t error) {
  (void)cudaGetLastError();
  return error == cudaSuccess;
}

constexpr Kind kKinds[] = {
    {"cudaFree", device_memory, [](void* p) { return ok(cudaFree(p)); }},
    {"cudaFreeAsync", device_memory, [](void* p) { return ok(cudaFreeAsync(p, cudaStreamPerThread)); }},
    {"cudaFreeAsync_of_pool_memory", pool_memory, [](void* p) { return ok(cudaFreeAsync(p, cudaStreamPerThread)); }},
    {"both_frees", device_memory,
     [](void* p) {
       static std::atomic<int> turn{0};
       return ok(++turn % 2 == 0 ? cudaFree(p) : cudaFreeAsync(p, cudaStreamPerThread));
     }},
    {"cudaFreeHost",
     [] {
       void* p = nullptr;
       EXPECT_OK(cudaMallocHost(&p, kBytes));
       return p;
     },
     [](void* p) { return ok(cudaFreeHost(p)); }},
    {"cudaHostUnregister",
     [] {
       void* const p = std::malloc(kBytes);
       EXPECT_OK(cudaHostRegister(p, kBytes, cudaHostRegisterDefault));
       return p;
     },
     [](void* p) { return ok(cudaHostUnregister(p)); }, [](void* p) { std::free(p); }},
    {"cudaFreeArray",
     [] {
       auto const format = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
       cudaArray_t array = nullptr;
       EXPECT_OK(cudaMallocArray(&array, &format, 64, 64, 0));
       return static_cast<void*>(array);
     },
     [](void* p) { return ok(cudaFreeArray(static_cast<cudaArray_t>(p))); }},
    {"cuModuleUnload",
     [] {
       CUmodule module = nullptr;
       EXPECT_OK(cuModuleLoadData(&module, kPtx));
       return static_cast<void*>(module);
     },
     [](void* p) { return cuModuleUnload(static_cast<CUmodule>(p)) == CUDA_SUCCESS; }},
    {"cuLibraryUnload",
     [] {
       CUlibrary library = nullptr;
       EXPECT_OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
       return static_cast<void*>(library);
     },
     [](void* p) { return cuLibraryUnload(static_cast<CUlibrary>(p)) == CUDA_SUCCESS; }},
    {"cudaStreamDestroy",
     [] {
       cudaStream_t stream = nullptr;
       EXPECT_OK(cudaStreamCreate(&stream));
       return static_cast<void*>(stream);
     },
     [](void* p) { return ok(cudaStreamDestroy(static_cast<cudaStream_t>(p))); }},
    {"cudaEventDestroy",
     [] {
       cudaEvent_t event = nullptr;
       EXPECT_OK(cudaEventCreate(&event));
       return static_cast<void*>(event);
     },
     [](void* p) { return ok(cudaEventDestroy(static_cast<cudaEvent_t>(p))); }},
    {"cuCtxDestroy",
     [] {
       CUcontext context = nullptr, popped = nullptr;
       EXPECT_OK(cuCtxCreate(&context, nullptr, 0, 0));
       CUdeviceptr p = 0;
       EXPECT_OK(cuMemAlloc(&p, kBytes));
       EXPECT_OK(cuMemsetD8Async(p, 1, kBytes, nullptr));
       EXPECT_OK(cuCtxPopCurrent(&popped));
       return static_cast<void*>(context);
     },
     [](void* p) { return cuCtxDestroy(static_cast<CUcontext>(p)) == CUDA_SUCCESS; }},
};

class Twice : public testing::TestWithParam<Kind> {};

// How many of two threads that begin together have done it.
int destroy_in_two_threads(const Kind& kind, void* handle) {
  std::atomic<int> ready{0}, done{0};
  auto const destroy = [&] {
    EXPECT_OK(cudaSetDevice(0));
    ++ready;
    while (ready < 2) std::this_thread::yield();
    done += kind.destroy(handle) ? 1 : 0;
  };
  std::thread one(destroy), other(destroy);
  one.join();
  other.join();
  return done;
}

TEST_P(Twice, OneOfTwoThreadsDoesIt) {
  NEEDS_SOFTGPU();
  Kind const& kind = GetParam();
  ASSERT_OK(cudaSetDevice(0));
  ASSERT_OK(cudaDeviceSynchronize());
  Stream const busy;
  DeviceBytes const target(4 * kMiB);
  std::size_t const before = memory_info().free_bytes;
  for (int i = 0; i < 100; ++i) {
    void* const handle = kind.make();
    // Something to wait for: calls that wait are then both inside.
    ASSERT_OK(cudaMemsetAsync(target.get(), i, target.bytes(), busy));
    EXPECT_EQ(1, destroy_in_two_threads(kind, handle)) << i;
    if (kind.give_back != nullptr) kind.give_back(handle);
  }
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(before, memory_info().free_bytes);
}

INSTANTIATE_TEST_SUITE_P(All, Twice, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace conformance
