// SPDX-License-Identifier: Apache-2.0
// What hooks make of calls that no software device can play: another thread that gets an address while its context is
// being ended, forms of functions that only old programs call, sparse arrays, sharing. On a driver that does what each
// test tells it to.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "tests/integration/doors/own_trace.h"
#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

using trace::Class;
using trace::Space;

constexpr std::uint64_t kBlock = 0x7f0000000000, kOther = 0x7f0000800000;
CUcontext context(std::uint64_t n) {
  return reinterpret_cast<CUcontext>(0x1000 * n);
}

// What the driver says; each test sets what it needs.
thread_local CUcontext current = nullptr;
thread_local std::uint64_t next_block = 0;
std::atomic<int> primary_active{1};
std::function<void()> during_end;
std::atomic<bool> context_is_gone{false};

CUresult end_context() {
  if (during_end) during_end();
  return CUDA_SUCCESS;
}

class Hooks : public testing::Test {
 protected:
  void SetUp() override {
    current = context(1);
    primary_active = 1;
    during_end = nullptr;
    context_is_gone = false;
  }
  // Calls a hook as an ordinary client of the driver.
  template <class... P>
  CUresult call(const char* symbol, CUresult (*)(P...), std::type_identity_t<P>... arguments) const {
    void* const found = dlsym(driver_.handle(), symbol);
    EXPECT_TRUE(is_hook(found)) << symbol;
    return reinterpret_cast<CUresult (*)(P...)>(found)(arguments...);
  }
  void allocate(std::uint64_t address, std::size_t bytes) const {
    next_block = address;
    CUdeviceptr out = 0;
    ASSERT_EQ(call("cuMemAlloc_v2", &cuMemAlloc_v2, &out, bytes), CUDA_SUCCESS);
    ASSERT_EQ(out, address);
  }
  void free(std::uint64_t address) const { EXPECT_EQ(call("cuMemFree_v2", &cuMemFree_v2, address), CUDA_SUCCESS); }

  template <class F>
  void replace(const char* symbol, F* with) {
    replaced_.push_back(
        std::make_unique<Fake::Replaced>(driver_.override_function(), symbol, reinterpret_cast<void*>(with)));
  }

  Fake driver_{"libcuda.so.1"};
  std::vector<std::unique_ptr<Fake::Replaced>> replaced_;

  Hooks() {
    replace(
        "cuDriverGetVersion", +[](int* version) {
          *version = 13000;
          return CUDA_SUCCESS;
        });
    replace(
        "cuCtxGetCurrent", +[](CUcontext* out) {
          *out = current;
          return CUDA_SUCCESS;
        });
    replace(
        "cuCtxGetDevice", +[](CUdevice* out) {
          *out = 0;
          return CUDA_SUCCESS;
        });
    replace(
        "cuDevicePrimaryCtxGetState", +[](CUdevice, unsigned* flags, int* active) {
          *flags = 0;
          *active = primary_active;
          return CUDA_SUCCESS;
        });
    replace(
        "cuDevicePrimaryCtxRetain", +[](CUcontext* out, CUdevice) {
          *out = context(9);
          return CUDA_SUCCESS;
        });
    replace(
        "cuMemGetInfo_v2", +[](std::size_t* free, std::size_t* total) {
          *free = 1 << 30, *total = 2u << 30;
          return CUDA_SUCCESS;
        });
    replace(
        "cuMemAlloc_v2", +[](CUdeviceptr* out, std::size_t) {
          *out = next_block;
          return CUDA_SUCCESS;
        });
    for (const char* const name : {"cuCtxDestroy_v2", "cuCtxDetach", "cuDevicePrimaryCtxReset_v2",
                                   "cuDevicePrimaryCtxRelease_v2", "cuGreenCtxDestroy"})
      replace(name, &end_context);
    replace(
        "cuCtxGetApiVersion",
        +[](CUcontext, unsigned*) { return context_is_gone ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; });
  }
};

void elsewhere(const std::function<void()>& f) {
  std::thread(f).join();
}

TEST_F(Hooks, ABlockThatAnotherThreadGetsWhileItsAddressesContextEndsIsANewBlock) {
  allocate(kBlock, 4096);
  std::uint64_t const before = read_own_trace().totals.live_bytes;
  // The context is gone inside the driver, and its address is given to another thread before we hear of the end.
  during_end = [&] {
    elsewhere([&] {
      current = context(2);
      allocate(kBlock, 8192);
    });
  };
  EXPECT_EQ(call("cuCtxDestroy_v2", &cuCtxDestroy_v2, context(1)), CUDA_SUCCESS);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.trouble, "");
  ASSERT_NE(own.find(Space::Memory, kBlock), nullptr);
  EXPECT_EQ(own.find(Space::Memory, kBlock)->size_bytes, 8192u);
  EXPECT_EQ(own.totals.live_bytes, before + 4096);
  free(kBlock);
}

TEST_F(Hooks, ABlockAtAnotherAddressIsFreedBeforeTheEndOfItsContext) {
  allocate(kBlock, 4096);
  during_end = [&] {
    elsewhere([&] {
      current = context(2);
      allocate(kOther, 512);
    });
  };
  EXPECT_EQ(call("cuCtxDestroy_v2", &cuCtxDestroy_v2, context(1)), CUDA_SUCCESS);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.trouble, "");
  EXPECT_EQ(own.find(Space::Memory, kBlock), nullptr);
  ASSERT_NE(own.find(Space::Memory, kOther), nullptr);
  auto const freed = std::find_if(own.events.rbegin(), own.events.rend(),
                                  [](const trace::Event& e) { return e.type == trace::Event::Type::Free; });
  EXPECT_EQ(freed->address, kBlock);
  EXPECT_LT(freed->ticks, own.find(Space::Memory, kOther)->ticks);
  free(kOther);
}

TEST_F(Hooks, ANewContextWithTheHandleOfTheOneThatEndsKeepsItsBlocks) {
  allocate(kBlock, 4096);
  during_end = [&] {
    elsewhere([&] {
      current = context(1);  // made anew, with the same handle
      allocate(kOther, 512);
    });
  };
  EXPECT_EQ(call("cuCtxDestroy_v2", &cuCtxDestroy_v2, context(1)), CUDA_SUCCESS);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.find(Space::Memory, kBlock), nullptr);
  EXPECT_NE(own.find(Space::Memory, kOther), nullptr);
  free(kOther);
}

TEST_F(Hooks, ThePrimaryContextsEndTakesAllBlocksButThoseOfContextsThatTheProgramMade) {
  replace(
      "cuCtxCreate_v2", +[](CUcontext* out, unsigned, CUdevice) {
        *out = context(5);
        current = context(5);
        return CUDA_SUCCESS;
      });
  allocate(kBlock, 4096);
  CUcontext made = nullptr;
  EXPECT_EQ(call("cuCtxCreate_v2", &cuCtxCreate_v2, &made, 0u, 0), CUDA_SUCCESS);
  allocate(kOther, 512);
  during_end = [] { primary_active = 0; };
  EXPECT_EQ(call("cuDevicePrimaryCtxReset_v2", &cuDevicePrimaryCtxReset_v2, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Memory, kBlock), nullptr);
  EXPECT_NE(read_own_trace().find(Space::Memory, kOther), nullptr);
  during_end = nullptr;
  EXPECT_EQ(call("cuCtxDestroy_v2", &cuCtxDestroy_v2, made), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Memory, kOther), nullptr);
}

TEST_F(Hooks, AReleaseThatIsNotTheLastEndsNothing) {
  allocate(kBlock, 4096);
  EXPECT_EQ(call("cuDevicePrimaryCtxRelease_v2", &cuDevicePrimaryCtxRelease_v2, 0), CUDA_SUCCESS);
  EXPECT_NE(read_own_trace().find(Space::Memory, kBlock), nullptr);
  during_end = [] { primary_active = 0; };
  EXPECT_EQ(call("cuDevicePrimaryCtxRelease_v2", &cuDevicePrimaryCtxRelease_v2, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Memory, kBlock), nullptr);
}

TEST_F(Hooks, AFailedEndLeavesEverything) {
  allocate(kBlock, 4096);
  replace(
      "cuCtxDestroy_v2", +[](CUcontext) { return CUDA_ERROR_INVALID_CONTEXT; });
  EXPECT_EQ(call("cuCtxDestroy_v2", &cuCtxDestroy_v2, context(1)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_NE(read_own_trace().find(Space::Memory, kBlock), nullptr);
  free(kBlock);
}

TEST_F(Hooks, ADetachedContextIsGoneOnceTheDriverSaysSo) {
  allocate(kBlock, 4096);
  EXPECT_EQ(call("cuCtxDetach", &cuCtxDetach, context(1)), CUDA_SUCCESS);
  EXPECT_NE(read_own_trace().find(Space::Memory, kBlock), nullptr);
  context_is_gone = true;
  EXPECT_EQ(call("cuCtxDetach", &cuCtxDetach, context(1)), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Memory, kBlock), nullptr);
}

// A green context's memory is its device's primary context's: it goes with that one.
TEST_F(Hooks, AGreenContextsEndEndsThePrimaryContextIfNobodyElseHoldsIt) {
  replace(
      "cuGreenCtxCreate", +[](CUgreenCtx* out, CUdevResourceDesc, CUdevice, unsigned) {
        *out = reinterpret_cast<CUgreenCtx>(0x77000);
        return CUDA_SUCCESS;
      });
  CUgreenCtx green = nullptr;
  EXPECT_EQ(call("cuGreenCtxCreate", &cuGreenCtxCreate, &green, nullptr, 0, 0u), CUDA_SUCCESS);
  current = context(6);  // the context of the green one
  allocate(kBlock, 4096);
  EXPECT_EQ(call("cuGreenCtxDestroy", &cuGreenCtxDestroy, green), CUDA_SUCCESS);
  EXPECT_NE(read_own_trace().find(Space::Memory, kBlock), nullptr);
  EXPECT_EQ(call("cuGreenCtxCreate", &cuGreenCtxCreate, &green, nullptr, 0, 0u), CUDA_SUCCESS);
  during_end = [] { primary_active = 0; };
  EXPECT_EQ(call("cuGreenCtxDestroy", &cuGreenCtxDestroy, green), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Memory, kBlock), nullptr);
}

TEST_F(Hooks, AFreeThatPassedUsByEndsItsBlockWhenTheAddressComesAgain) {
  allocate(kBlock, 4096);
  std::uint64_t const before = read_own_trace().totals.live_bytes;
  allocate(kBlock, 1024);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.trouble, "");
  EXPECT_EQ(own.totals.live_bytes, before - 4096 + 1024);
  EXPECT_EQ(own.totals.allocations - own.totals.frees, own.live.size());
  free(kBlock);
}

TEST_F(Hooks, TheFirstFormsOfFunctionsAreCountedToo) {
  replace(
      "cuMemAllocHost", +[](void** out, unsigned) {
        *out = reinterpret_cast<void*>(kBlock);
        return CUDA_SUCCESS;
      });
  replace(
      "cuArrayCreate", +[](CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1*) {
        *out = reinterpret_cast<CUarray>(0x5000);
        return CUDA_SUCCESS;
      });
  replace(
      "cuArray3DCreate", +[](CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1*) {
        *out = reinterpret_cast<CUarray>(0x6000);
        return CUDA_SUCCESS;
      });
  void* pinned = nullptr;
  CUarray flat = nullptr, deep = nullptr;
  CUDA_ARRAY_DESCRIPTOR_v1 const flat_shape{.Width = 100, .Height = 10, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
  CUDA_ARRAY3D_DESCRIPTOR_v1 const deep_shape{
      .Width = 16, .Height = 8, .Depth = 4, .Format = CU_AD_FORMAT_HALF, .NumChannels = 1, .Flags = 0};
  EXPECT_EQ(call("cuMemAllocHost", &cuMemAllocHost, &pinned, 100u), CUDA_SUCCESS);
  EXPECT_EQ(call("cuMemHostRegister", &cuMemHostRegister, reinterpret_cast<void*>(kOther), std::size_t{300}, 0u),
            CUDA_SUCCESS);
  EXPECT_EQ(call("cuArrayCreate", &cuArrayCreate, &flat, &flat_shape), CUDA_SUCCESS);
  EXPECT_EQ(call("cuArray3DCreate", &cuArray3DCreate, &deep, &deep_shape), CUDA_SUCCESS);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.live_bytes(Class::Pinned), 100u);
  EXPECT_EQ(own.live_bytes(Class::Registered), 300u);
  ASSERT_NE(own.find(Space::Array, 0x5000), nullptr);
  EXPECT_EQ(own.find(Space::Array, 0x5000)->size_bytes, 8000u);
  ASSERT_NE(own.find(Space::Array, 0x6000), nullptr);
  EXPECT_EQ(own.find(Space::Array, 0x6000)->size_bytes, 1024u);
  EXPECT_EQ(call("cuMemFreeHost", &cuMemFreeHost, pinned), CUDA_SUCCESS);
  EXPECT_EQ(call("cuMemHostUnregister", &cuMemHostUnregister, reinterpret_cast<void*>(kOther)), CUDA_SUCCESS);
  EXPECT_EQ(call("cuArrayDestroy", &cuArrayDestroy, flat), CUDA_SUCCESS);
  EXPECT_EQ(call("cuArrayDestroy", &cuArrayDestroy, deep), CUDA_SUCCESS);
  EXPECT_TRUE(read_own_trace().live.empty());
}

CUarrayMapInfo tile(CUarray array, unsigned x, CUmemGenericAllocationHandle block) {
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  info.subresource.sparseLevel.offsetX = x;
  info.memOperationType = block != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
  info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  info.memHandle.memHandle = block;
  return info;
}

TEST_F(Hooks, ATileOfASparseArrayKeepsItsPhysicalBlock) {
  static CUmemGenericAllocationHandle next = 0;
  replace(
      "cuMemCreate",
      +[](CUmemGenericAllocationHandle* out, std::size_t, const CUmemAllocationProp*, unsigned long long) {
        *out = next;
        return CUDA_SUCCESS;
      });
  CUmemAllocationProp properties{};
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  for (CUmemGenericAllocationHandle const block : {0x21, 0x22, 0x23}) {
    CUmemGenericAllocationHandle out = 0;
    next = block;
    EXPECT_EQ(call("cuMemCreate", &cuMemCreate, &out, std::size_t{2} << 20, &properties, 0ull), CUDA_SUCCESS);
  }
  auto* const array = reinterpret_cast<CUarray>(0x9000);
  CUarrayMapInfo maps[] = {tile(array, 0, 0x21), tile(array, 64, 0x22), tile(array, 128, 0x23)};
  EXPECT_EQ(call("cuMemMapArrayAsync", &cuMemMapArrayAsync, maps, 3u, nullptr), CUDA_SUCCESS);
  for (CUmemGenericAllocationHandle const block : {0x21, 0x22, 0x23})
    EXPECT_EQ(call("cuMemRelease", &cuMemRelease, block), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Physical), 3u * (2 << 20));
  CUarrayMapInfo unmap = tile(array, 0, 0);
  EXPECT_EQ(call("cuMemMapArrayAsync_ptsz", &cuMemMapArrayAsync, &unmap, 1u, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Physical, 0x21), nullptr);
  // Mapped anew, the tile lets the block before go.
  CUarrayMapInfo again = tile(array, 64, 0x23);
  EXPECT_EQ(call("cuMemMapArrayAsync", &cuMemMapArrayAsync, &again, 1u, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Physical, 0x22), nullptr);
  EXPECT_NE(read_own_trace().find(Space::Physical, 0x23), nullptr);
  EXPECT_EQ(call("cuArrayDestroy", &cuArrayDestroy, array), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().find(Space::Physical, 0x23), nullptr);
}

TEST_F(Hooks, AnImportedMipmappedArrayIsNobodysBytes) {
  replace(
      "cuExternalMemoryGetMappedMipmappedArray",
      +[](CUmipmappedArray* out, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC*) {
        *out = reinterpret_cast<CUmipmappedArray>(0x8000);
        return CUDA_SUCCESS;
      });
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC shape{};
  shape.arrayDesc = {
      .Width = 64, .Height = 64, .Depth = 0, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4, .Flags = 0};
  shape.numLevels = 1;
  CUmipmappedArray array = nullptr;
  std::uint64_t const before = read_own_trace().totals.live_bytes;
  EXPECT_EQ(call("cuExternalMemoryGetMappedMipmappedArray", &cuExternalMemoryGetMappedMipmappedArray, &array, nullptr,
                 &shape),
            CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Imported), 64u * 64 * 4);
  EXPECT_EQ(read_own_trace().totals.live_bytes, before);
  EXPECT_EQ(call("cuMipmappedArrayDestroy", &cuMipmappedArrayDestroy, array), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Imported), 0u);
  EXPECT_EQ(call("cuDestroyExternalMemory", &cuDestroyExternalMemory, nullptr), CUDA_SUCCESS);
}

TEST_F(Hooks, TheTraceSaysThatMemoryWasHandedOut) {
  allocate(kBlock, 4096);
  EXPECT_FALSE(read_own_trace().facts.contains("shared_memory"));
  CUipcMemHandle handle{};
  EXPECT_EQ(call("cuIpcGetMemHandle", &cuIpcGetMemHandle, &handle, kBlock), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().facts.at("shared_memory"), "cuIpcGetMemHandle");
  free(kBlock);
}

TEST_F(Hooks, AGraphsMemoryIsAskedForAfterWhateverMayTakeIt) {
  static std::uint64_t pool = 0;
  replace(
      "cuDeviceGetGraphMemAttribute", +[](CUdevice, CUgraphMem_attribute, void* out) {
        *static_cast<cuuint64_t*>(out) = pool;
        return CUDA_SUCCESS;
      });
  replace(
      "cuDeviceGetCount", +[](int* count) {
        *count = 1;
        return CUDA_SUCCESS;
      });
  CUgraphNode node{};
  EXPECT_EQ(call("cuGraphAddMemAllocNode", &cuGraphAddMemAllocNode, &node, nullptr, nullptr, std::size_t{0}, nullptr),
            CUDA_SUCCESS);
  pool = 1 << 20;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(call("cuGraphInstantiateWithParams", &cuGraphInstantiateWithParams, nullptr, nullptr, &params),
            CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Graph), 1u << 20);
  pool = 2 << 20;
  EXPECT_EQ(call("cuGraphUpload", &cuGraphUpload, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Graph), 2u << 20);
  pool = 3 << 20;
  EXPECT_EQ(call("cuGraphLaunch_ptsz", &cuGraphLaunch, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Graph), 3u << 20);
  // The device's last context ends, and its pool.
  during_end = [] { primary_active = pool = 0; };
  EXPECT_EQ(call("cuDevicePrimaryCtxReset_v2", &cuDevicePrimaryCtxReset_v2, 0), CUDA_SUCCESS);
  EXPECT_EQ(read_own_trace().live_bytes(Class::Graph), 0u);
}

}  // namespace
}  // namespace tidemark::doors
