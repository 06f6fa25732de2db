// SPDX-License-Identifier: Apache-2.0
// The device's own books of what is live, after every call that changes them.
#include <array>
#include <map>
#include <random>

#include "softgpu/interface/softgpu.h"
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

using Books = std::array<SoftgpuLive, SOFTGPU_LIVE_CLASSES>;

Books books(int device = 0) {
  Books all{};
  EXPECT_EQ(0, softgpu_live(device, all.data(), static_cast<int>(all.size())));
  return all;
}

// Two contexts on two devices; `now` is what has come since, class by class.
class Live : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    for (int i : {1, 0}) OK(cuCtxCreate(&contexts_[i], nullptr, 0, i));
    before_ = books();
  }
  void TearDown() override {
    for (CUcontext const context : contexts_)
      if (context != nullptr) {
        EXPECT_OK(cuCtxDestroy(context));
      }
    for (int device : {0, 1})
      for (SoftgpuLive const& live : books(device)) EXPECT_EQ(0u, live.blocks);
  }
  void expect(int of, std::uint64_t bytes, std::uint64_t blocks) {
    Books const now = books();
    EXPECT_EQ(bytes, now[of].requested_bytes - before_[of].requested_bytes) << "class " << of;
    EXPECT_EQ(blocks, now[of].blocks - before_[of].blocks) << "class " << of;
  }
  void expect_nothing() {
    for (int of = 0; of < SOFTGPU_LIVE_CLASSES; ++of) expect(of, 0, 0);
  }

  CUcontext contexts_[2] = {};
  Books before_{};
};

TEST_F(Live, LinearMemoryCountsAsItWasAskedFor) {
  CUdeviceptr a = 0, b = 0, pitched = 0;
  size_t pitch = 0;
  OK(cuMemAlloc(&a, 1));
  expect(SOFTGPU_LIVE_LINEAR, 1, 1);
  OK(cuMemAlloc(&b, (3u << 20) + 5));
  expect(SOFTGPU_LIVE_LINEAR, (3u << 20) + 6, 2);
  OK(cuMemAllocPitch(&pitched, &pitch, 100, 7, 4));
  expect(SOFTGPU_LIVE_LINEAR, (3u << 20) + 6 + pitch * 7, 3);
  OK(cuMemFree(b));
  OK(cuMemFree(pitched));
  expect(SOFTGPU_LIVE_LINEAR, 1, 1);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(b));
  expect(SOFTGPU_LIVE_LINEAR, 1, 1);
  OK(cuMemFree(a));
  expect_nothing();
}

TEST_F(Live, AFailedAllocationCountsNothing) {
  CUdeviceptr p = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, std::size_t{1} << 40));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&p, std::size_t{1} << 40, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));
  expect_nothing();
}

TEST_F(Live, StreamOrderedMemoryIsGoneWithTheCallThatFreesIt) {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr a = 0, b = 0, plain = 0;
  OK(cuMemAllocAsync(&a, 1000, stream));
  OK(cuMemAllocAsync(&b, 5u << 20, stream));
  OK(cuMemAlloc(&plain, 77));
  expect(SOFTGPU_LIVE_POOL, 1000 + (5u << 20), 2);
  OK(cuMemFreeAsync(a, stream));
  expect(SOFTGPU_LIVE_POOL, 5u << 20, 1);
  OK(cuMemFree(b));
  expect(SOFTGPU_LIVE_POOL, 0, 0);
  OK(cuMemFreeAsync(plain, stream));
  expect_nothing();
  OK(cuStreamSynchronize(stream));
  expect_nothing();
  OK(cuStreamDestroy(stream));
}

TEST_F(Live, ArraysCountTheirElements) {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR const flat{.Width = 33, .Height = 5, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
  OK(cuArrayCreate(&array, &flat));
  expect(SOFTGPU_LIVE_ARRAY, 33 * 5 * 8, 1);
  CUmipmappedArray levels = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR const mipmapped{
      .Width = 8, .Height = 4, .Depth = 0, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1, .Flags = 0};
  OK(cuMipmappedArrayCreate(&levels, &mipmapped, 3));
  expect(SOFTGPU_LIVE_ARRAY, 33 * 5 * 8 + 32 + 8 + 2, 4);
  OK(cuMipmappedArrayDestroy(levels));
  OK(cuArrayDestroy(array));
  expect_nothing();
}

TEST_F(Live, PhysicalMemoryLivesAsLongAsAHandleOrAMapping) {
  constexpr std::size_t kBytes = 4u << 20;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  OK(cuMemAddressReserve(&range, 2 * kBytes, 0, 0, 0));
  expect_nothing();
  OK(cuMemCreate(&handle, kBytes, &prop, 0));
  expect(SOFTGPU_LIVE_PHYSICAL, kBytes, 1);
  OK(cuMemMap(range, kBytes, 0, handle, 0));
  OK(cuMemMap(range + kBytes, kBytes, 0, handle, 0));
  OK(cuMemRelease(handle));
  expect(SOFTGPU_LIVE_PHYSICAL, kBytes, 1);
  expect(SOFTGPU_LIVE_MAPPED, 2 * kBytes, 2);
  OK(cuMemUnmap(range, kBytes));
  expect(SOFTGPU_LIVE_PHYSICAL, kBytes, 1);
  expect(SOFTGPU_LIVE_MAPPED, kBytes, 1);
  OK(cuMemUnmap(range + kBytes, kBytes));
  OK(cuMemAddressFree(range, 2 * kBytes));
  expect_nothing();
}

TEST_F(Live, ManagedPinnedAndRegisteredMemoryHaveTheirOwnClasses) {
  CUdeviceptr managed = 0;
  void* pinned = nullptr;
  std::vector<char> own(10'000);
  OK(cuMemAllocManaged(&managed, 12'345, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemHostAlloc(&pinned, 99, 0));
  OK(cuMemHostRegister(own.data(), own.size(), 0));
  expect(SOFTGPU_LIVE_MANAGED, 12'345, 1);
  expect(SOFTGPU_LIVE_PINNED, 99, 1);
  expect(SOFTGPU_LIVE_REGISTERED, 10'000, 1);
  expect(SOFTGPU_LIVE_LINEAR, 0, 0);
  OK(cuMemHostUnregister(own.data()));
  OK(cuMemFreeHost(pinned));
  OK(cuMemFree(managed));
  expect_nothing();
}

TEST_F(Live, AGraphsAllocationLivesFromLaunchToFree) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.bytesize = 3000;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params));
  OK(cuGraphInstantiate(&exec, graph, 0));
  expect_nothing();
  OK(cuGraphLaunch(exec, nullptr));
  expect(SOFTGPU_LIVE_GRAPH, 3000, 1);
  OK(cuMemFreeAsync(params.dptr, nullptr));
  expect_nothing();
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
}

TEST_F(Live, DevicesAndContextsHaveTheirOwn) {
  Books const other = books(1);
  CUdeviceptr here = 0, there = 0;
  OK(cuMemAlloc(&here, 100));
  OK(cuCtxPushCurrent(contexts_[1]));
  OK(cuMemAlloc(&there, 3000));
  OK(cuCtxPopCurrent(nullptr));
  expect(SOFTGPU_LIVE_LINEAR, 100, 1);
  EXPECT_EQ(3000u, books(1)[SOFTGPU_LIVE_LINEAR].requested_bytes - other[SOFTGPU_LIVE_LINEAR].requested_bytes);
  OK(cuCtxDestroy(contexts_[1]));
  contexts_[1] = nullptr;
  EXPECT_EQ(0u, books(1)[SOFTGPU_LIVE_LINEAR].blocks);
  expect(SOFTGPU_LIVE_LINEAR, 100, 1);
}

TEST_F(Live, BadArgumentsAreRefusedAndShortListsFilled) {
  SoftgpuLive one{.requested_bytes = 5, .blocks = 5};
  EXPECT_EQ(0, softgpu_live(0, &one, 1));
  EXPECT_EQ(before_[0].blocks, one.blocks);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, softgpu_live(0, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, softgpu_live(0, &one, -1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, softgpu_live(2, &one, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, softgpu_live(-1, &one, 1));
  // From a later version: more classes than there are.
  std::vector<SoftgpuLive> many(SOFTGPU_LIVE_CLASSES + 3, one);
  EXPECT_EQ(0, softgpu_live(0, many.data(), static_cast<int>(many.size())));
  EXPECT_EQ(0u, many.back().blocks);
}

// What the books are for: an account kept by watching the calls agrees after every one of them.
TEST_F(Live, AnAccountOfTheCallsAgreesAtEachStep) {
  std::mt19937 random(5);
  std::map<CUdeviceptr, std::pair<int, std::uint64_t>> account;  // class and bytes
  for (int step = 0; step < 2000; ++step) {
    std::uint64_t const bytes = 1 + random() % (step % 10 == 0 ? 1u << 22 : 1u << 12);
    CUdeviceptr p = 0;
    if (account.empty() || random() % 2 == 0) {
      bool const pool = random() % 2 == 0;
      CUresult const result = pool ? cuMemAllocAsync(&p, bytes, nullptr) : cuMemAlloc(&p, bytes);
      if (result == CUDA_SUCCESS) account[p] = {pool ? SOFTGPU_LIVE_POOL : SOFTGPU_LIVE_LINEAR, bytes};
    } else {
      auto const victim = std::next(account.begin(), static_cast<std::ptrdiff_t>(random() % account.size()));
      OK(random() % 2 == 0 ? cuMemFree(victim->first) : cuMemFreeAsync(victim->first, nullptr));
      account.erase(victim);
    }
    Books const now = books();
    std::map<int, SoftgpuLive> sums;
    for (auto const& [address, entry] : account) {
      sums[entry.first].requested_bytes += entry.second;
      ++sums[entry.first].blocks;
    }
    for (int of : {SOFTGPU_LIVE_LINEAR, SOFTGPU_LIVE_POOL}) {
      ASSERT_EQ(sums[of].requested_bytes, now[of].requested_bytes - before_[of].requested_bytes) << "step " << step;
      ASSERT_EQ(sums[of].blocks, now[of].blocks - before_[of].blocks) << "step " << step;
    }
  }
  for (auto const& [address, entry] : account) OK(cuMemFree(address));
  expect_nothing();
}

}  // namespace
}  // namespace tidemark::softgpu::test
