// SPDX-License-Identifier: Apache-2.0
// The hooks, called as programs call them, on the software device; sixteen threads at once. The trace is this
// process's, and all tests write to it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "interpose/process/process.h"
#include "interpose/real/cuda.h"
#include "interpose/record/recorder.h"
#include "softgpu/interface/softgpu.h"
#include "tests/support/replay.h"

extern "C" {
CUresult tidemark_hook_cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult tidemark_hook_cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult tidemark_hook_cuMemAllocManaged(CUdeviceptr*, size_t, unsigned);
CUresult tidemark_hook_cuMemFree_v2(CUdeviceptr);
CUresult tidemark_hook_cuMemAllocAsync(CUdeviceptr*, size_t, CUstream);
CUresult tidemark_hook_cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult tidemark_hook_cuMemHostAlloc(void**, size_t, unsigned);
CUresult tidemark_hook_cuMemFreeHost(void*);
CUresult tidemark_hook_cuArrayCreate_v2(CUarray*, const CUDA_ARRAY_DESCRIPTOR*);
CUresult tidemark_hook_cuArrayDestroy(CUarray);
CUresult tidemark_hook_cuMemCreate(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                                   unsigned long long);
CUresult tidemark_hook_cuMemRelease(CUmemGenericAllocationHandle);
CUresult tidemark_hook_cuMemAddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult tidemark_hook_cuMemAddressFree(CUdeviceptr, size_t);
CUresult tidemark_hook_cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
CUresult tidemark_hook_cuMemUnmap(CUdeviceptr, size_t);
void tidemark_push(int, const char*);
void tidemark_pop(int);
void tidemark_step(uint64_t);
void tidemark_tag(const void*, int, const char*);
}

namespace tidemark::interpose {
namespace {

constexpr std::size_t kGranule = 2 << 20;

void expect_well(CUresult result, const char* call) {
  EXPECT_EQ(result, CUDA_SUCCESS) << call;
}
#define EXPECT_WELL(...) expect_well((__VA_ARGS__), #__VA_ARGS__)

class HooksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(tidemark_hook_cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_TRUE(recording()) << "TIDEMARK_OUT has to name a new file";
  }
  static inline CUcontext context = nullptr;
};

test::Replay replay_now() {
  auto const trace = trace::Trace::open(recorder().file().path());
  EXPECT_TRUE(trace.ok());
  EXPECT_EQ(trace->lost_events(), 0u);
  return test::replay(*trace);
}

// At rest, header and events and registry say the same.
void expect_one_account() {
  test::Replay const replay = replay_now();
  trace::Totals const& totals = recorder().file().header().totals;
  EXPECT_EQ(replay.impossible(), std::vector<std::string>{});
  EXPECT_EQ(totals.allocations, replay.allocations());
  EXPECT_EQ(totals.frees, replay.frees());
  EXPECT_EQ(totals.live_bytes, replay.live_on_device_bytes());
  EXPECT_EQ(totals.reserved_bytes, replay.reserved_bytes());
  std::size_t blocks = 0;
  recorder().registry().for_each([&](std::uint64_t, const Owned&) { ++blocks; });
  EXPECT_EQ(blocks, replay.live().blocks);
}

TEST_F(HooksTest, ABlockIsThereFromItsAllocationToItsFree) {
  CUdeviceptr block = 0;
  auto const before = replay_now().live(trace::Class::Device);
  EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&block, 1000));
  EXPECT_EQ(replay_now().live(trace::Class::Device).bytes, before.bytes + 1000);
  EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
  EXPECT_EQ(replay_now().live(trace::Class::Device), before);
  expect_one_account();
}

TEST_F(HooksTest, AFreeThatFailsLeavesTheBlock) {
  CUdeviceptr block = 0;
  EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&block, 1000));
  auto const before = replay_now().live(trace::Class::Device);
  EXPECT_NE(tidemark_hook_cuMemFree_v2(block + 256), CUDA_SUCCESS);
  cuCtxSetCurrent(nullptr);
  EXPECT_NE(tidemark_hook_cuMemFree_v2(block), CUDA_SUCCESS) << "without a context";
  cuCtxSetCurrent(context);
  EXPECT_EQ(replay_now().live(trace::Class::Device), before);
  EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
  EXPECT_NE(tidemark_hook_cuMemFree_v2(block), CUDA_SUCCESS) << "twice";
  expect_one_account();
}

TEST_F(HooksTest, PhysicalMemoryStaysUntilItsLastHoldIsGone) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  auto const live = [] { return replay_now().live(trace::Class::Physical).bytes; };
  EXPECT_WELL(tidemark_hook_cuMemAddressReserve(&range, 2 * kGranule, 0, 0, 0));
  EXPECT_WELL(tidemark_hook_cuMemCreate(&handle, kGranule, &properties, 0));
  EXPECT_WELL(tidemark_hook_cuMemMap(range, kGranule, 0, handle, 0));
  EXPECT_WELL(tidemark_hook_cuMemMap(range + kGranule, kGranule, 0, handle, 0));
  EXPECT_WELL(tidemark_hook_cuMemRelease(handle));
  EXPECT_EQ(live(), kGranule) << "two mappings hold it";
  EXPECT_NE(tidemark_hook_cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_NE(tidemark_hook_cuMemAddressFree(range, 2 * kGranule), CUDA_SUCCESS) << "still mapped";
  EXPECT_WELL(tidemark_hook_cuMemUnmap(range, kGranule));
  EXPECT_EQ(live(), kGranule);
  EXPECT_WELL(tidemark_hook_cuMemUnmap(range + kGranule, kGranule));
  EXPECT_EQ(live(), 0u);
  EXPECT_WELL(tidemark_hook_cuMemAddressFree(range, 2 * kGranule));
  EXPECT_EQ(replay_now().live(trace::Class::Reservation).blocks, 0u);
  expect_one_account();
}

// What one thread of sixteen does.
class Worker {
 public:
  Worker(unsigned seed, std::vector<std::atomic<CUdeviceptr>>& shared) : random_(seed), shared_(shared) {}
  void run(int rounds) {
    EXPECT_WELL(cuCtxSetCurrent(context_));
    CUstream stream = nullptr;
    EXPECT_WELL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < rounds; ++i) {
      tidemark_push(1, random_() % 2 != 0 ? "encoder" : "decoder");
      switch (random_() % 7) {
        case 0: linear(); break;
        case 1: hand_over(); break;
        case 2: ordered(stream); break;
        case 3: host(); break;
        case 4: array(); break;
        case 5: physical(); break;
        default: managed(); break;
      }
      tidemark_pop(1);
      if (i % 64 == 0) tidemark_step(static_cast<uint64_t>(i));
    }
    EXPECT_WELL(cuStreamDestroy_v2(stream));
  }
  void in(CUcontext context) { context_ = context; }

 private:
  void linear() {
    CUdeviceptr block = 0;
    EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&block, 1 + random_() % 100'000));
    tidemark_tag(reinterpret_cast<void*>(block), 4, "x");
    EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
  }
  // Whoever finds a block frees it.
  void hand_over() {
    CUdeviceptr block = 0;
    EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&block, 1 + random_() % 5'000));
    CUdeviceptr const found = shared_[random_() % shared_.size()].exchange(block);
    if (found != 0) EXPECT_WELL(tidemark_hook_cuMemFree_v2(found));
  }
  void ordered(CUstream stream) {
    CUdeviceptr block = 0;
    EXPECT_WELL(tidemark_hook_cuMemAllocAsync(&block, 1 + random_() % 100'000, stream));
    EXPECT_WELL(tidemark_hook_cuMemFreeAsync(block, stream));
  }
  void managed() {
    CUdeviceptr block = 0;
    EXPECT_WELL(tidemark_hook_cuMemAllocManaged(&block, 5'000, CU_MEM_ATTACH_GLOBAL));
    EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
  }
  void host() {
    void* block = nullptr;
    EXPECT_WELL(tidemark_hook_cuMemHostAlloc(&block, 5'000, 0));
    EXPECT_WELL(tidemark_hook_cuMemFreeHost(block));
  }
  void array() {
    CUDA_ARRAY_DESCRIPTOR const shape{.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    CUarray made = nullptr;
    EXPECT_WELL(tidemark_hook_cuArrayCreate_v2(&made, &shape));
    EXPECT_WELL(tidemark_hook_cuArrayDestroy(made));
  }
  void physical() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr range = 0;
    EXPECT_WELL(tidemark_hook_cuMemAddressReserve(&range, kGranule, 0, 0, 0));
    EXPECT_WELL(tidemark_hook_cuMemCreate(&handle, kGranule, &properties, 0));
    EXPECT_WELL(tidemark_hook_cuMemMap(range, kGranule, 0, handle, 0));
    bool const early = random_() % 2 == 0;
    if (early) EXPECT_WELL(tidemark_hook_cuMemRelease(handle));
    EXPECT_WELL(tidemark_hook_cuMemUnmap(range, kGranule));
    if (!early) EXPECT_WELL(tidemark_hook_cuMemRelease(handle));
    EXPECT_WELL(tidemark_hook_cuMemAddressFree(range, kGranule));
  }

  std::minstd_rand random_;
  std::vector<std::atomic<CUdeviceptr>>& shared_;
  CUcontext context_ = nullptr;
};

TEST_F(HooksTest, SixteenThreadsAtOnceLeaveOneAccount) {
  std::vector<std::atomic<CUdeviceptr>> shared(8);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 16; ++i)
    threads.emplace_back([&, i] {
      Worker worker(i, shared);
      worker.in(context);
      worker.run(200);
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& block : shared)
    if (block != 0) EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
  EXPECT_WELL(cuCtxSynchronize());
  expect_one_account();
  EXPECT_EQ(replay_now().live().blocks, 0u);
  // At rest the device has nothing of ours, and the trace says so.
  CUdeviceptr last = 0;
  EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&last, 1));
  EXPECT_WELL(tidemark_hook_cuMemFree_v2(last));
  SoftgpuDeviceInfo info{};
  EXPECT_EQ(softgpu_device_info(0, &info), 0);
  EXPECT_EQ(replay_now().reserved_bytes(0), info.process_bytes - info.context_bytes);
}

TEST_F(HooksTest, EndedThreadsLeaveTheirChunksToOthers) {
  std::uint64_t const before = recorder().file().header().chunks;
  for (int i = 0; i < 200; ++i)
    std::thread([] {
      cuCtxSetCurrent(context);
      CUdeviceptr block = 0;
      EXPECT_WELL(tidemark_hook_cuMemAlloc_v2(&block, 1));
      EXPECT_WELL(tidemark_hook_cuMemFree_v2(block));
    }).join();
  EXPECT_LE(recorder().file().header().chunks, before + 2);
  expect_one_account();
}

// The program's end, as far as the trace is concerned, is this one's: the file need not outlive it.
class Cleaner : public testing::Environment {
 public:
  void TearDown() override {
    if (recording()) std::filesystem::remove(recorder().file().path());
  }
};
[[maybe_unused]] auto* const cleaner = testing::AddGlobalTestEnvironment(new Cleaner);

}  // namespace
}  // namespace tidemark::interpose
