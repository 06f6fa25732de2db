// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

// Runs the launch, expects the status and these words on stderr, and then a healthy launch on the same OS thread.
template <class... A>
void expect_fault(SoftgpuKernelStatus status, std::string_view said, std::string_view name, const Shape& shape,
                  A... args) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch(name, shape, args...), status) << name;
  std::string const text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(said), std::string::npos) << text;
  EXPECT_EQ(text.find("softgpu: kernel "), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  std::vector<int> rounds(64);
  EXPECT_EQ(launch("leave_one_by_one", {.block = {64, 1, 1}}, rounds.data()), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(rounds[63], 64);
}

TEST(Fault, TrapEndsTheLaunchAndNamesTheThread) {
  expect_fault(SOFTGPU_KERNEL_TRAP, "trap_in(unsigned int), block (0,0,0), thread (70,0,0): __trap()", "trap_in",
               {.grid = {3, 1, 1}, .block = {128, 1, 1}}, 70u);
}

TEST(Fault, AssertSaysWhatAndWhere) {
  expect_fault(SOFTGPU_KERNEL_ASSERT, "fault.h:", "assert_below", {.block = {32, 1, 1}}, 3u);
  expect_fault(SOFTGPU_KERNEL_ASSERT, "Assertion `threadIdx.x < limit && \"too far\"` failed.", "assert_below",
               {.block = {32, 1, 1}}, 3u);
  EXPECT_EQ(launch("assert_below", {.block = {32, 1, 1}}, 32u), SOFTGPU_KERNEL_OK);
}

TEST(Fault, ADivergentBarrierIsReportedNotHungUpon) {
  std::vector<int> out(64);
  expect_fault(SOFTGPU_KERNEL_DIVERGENT_SYNC,
               "32 threads wait at __syncthreads, lanes ffff0000 of warp 0 wait at __syncwarp with mask ffffffff",
               "divergent_barrier", {.block = {64, 1, 1}}, out.data());
  expect_fault(SOFTGPU_KERNEL_DIVERGENT_SYNC, "lanes 00000001 of warp 0 wait at __ballot_sync", "different_calls",
               {.block = {32, 1, 1}}, out.data());
  expect_fault(SOFTGPU_KERNEL_DIVERGENT_SYNC, "__shfl_sync with a mask that does not name the caller",
               "mask_without_caller", {.block = {32, 1, 1}}, out.data());
}

TEST(Fault, AGridThatCannotMeetIsReportedNotHungUpon) {
  Shape const shape{.grid = {3, 1, 1}, .block = {64, 1, 1}, .cooperative = true};
  struct Row {
    int what;
    const char* text;
  };
  for (Row const row : {Row{1, "some blocks wait in grid.sync() that others have left the kernel without reaching"},
                        Row{2, "some threads of the block are in grid.sync(), others at __syncthreads"}})
    expect_fault(SOFTGPU_KERNEL_DIVERGENT_SYNC, row.text, "leave_before_grid", shape, row.what);
  expect_fault(SOFTGPU_KERNEL_TRAP, "grid.sync() in a launch that is not cooperative", "leave_before_grid",
               {.block = {64, 1, 1}}, 3);
  // A thread that has left counts as there, as at a block's barrier. And the OS thread is as good as new.
  EXPECT_EQ(launch("leave_before_grid", shape, 0), SOFTGPU_KERNEL_OK);
  unsigned wrong = 0;
  std::vector<unsigned> values(192);
  Shape with_shared = shape;
  with_shared.dynamic_shared_bytes = 1024;
  EXPECT_EQ(launch("pass_round_grid", with_shared, values.data(), &wrong, 1), SOFTGPU_KERNEL_OK);
}

TEST(Fault, AFlatKernelThatSynchronisesIsReported) {
  int out = 0;
  EXPECT_EQ(launch("barrier_if", {.block = {64, 1, 1}}, 0), SOFTGPU_KERNEL_OK);
  expect_fault(SOFTGPU_KERNEL_FLAT_SYNC, "__syncthreads in a kernel that is registered as flat", "barrier_if",
               {.grid = {2, 1, 1}, .block = {64, 1, 1}}, 1);
  expect_fault(SOFTGPU_KERNEL_FLAT_SYNC, "__shfl_sync in a kernel", "shuffle_if", {.block = {64, 1, 1}}, &out, 1);
}

TEST(Fault, AnExceptionDoesNotCrossTheEngine) {
  expect_fault(SOFTGPU_KERNEL_TRAP, "a C++ exception left the kernel", "throwing", {.block = {40, 1, 1}}, 1);
}

TEST(Fault, LaunchesThatCannotRunAreRefused) {
  expect_fault(SOFTGPU_KERNEL_BAD_LAUNCH, "1 to 1024 threads", "no_parameters", {.block = {1025, 1, 1}});
  expect_fault(SOFTGPU_KERNEL_BAD_LAUNCH, "1 to 1024 threads", "no_parameters", {.block = {1u << 31, 2, 1}});
  expect_fault(SOFTGPU_KERNEL_BAD_LAUNCH, "1 to 1024 threads", "no_parameters", {.block = {0, 1, 1}});
}

TEST(Fault, OneThreadsFaultLeavesTheOthersAlone) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&wrong, i] {
      for (int repeat = 0; repeat < 20; ++repeat)
        if (i % 2) {
          wrong[i] += launch("trap_in", {.block = {96, 1, 1}}, 50u) != SOFTGPU_KERNEL_TRAP;
        } else {
          std::vector<int> rounds(64);
          wrong[i] += launch("leave_one_by_one", {.block = {64, 1, 1}}, rounds.data()) != SOFTGPU_KERNEL_OK;
        }
    });
  for (std::thread& thread : threads) thread.join();
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

class HardwareFault : public ::testing::Test {
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer reports faults itself";
  }
};

TEST_F(HardwareFault, StackOverflowIsReported) {
  int out[2] = {};
  ASSERT_EQ(launch("recurse", {.block = {64, 1, 1}}, 20, &out[0]), SOFTGPU_KERNEL_OK);
  for (int repeat = 0; repeat < 3; ++repeat)
    expect_fault(SOFTGPU_KERNEL_STACK_OVERFLOW, "used more than its stack of 64 KiB", "recurse", {.block = {64, 1, 1}},
                 1000, &out[0]);
}

TEST_F(HardwareFault, AWildPointerIsAnIllegalAddress) {
  expect_fault(SOFTGPU_KERNEL_ILLEGAL_ADDRESS, "an illegal memory access at 0x10", "store_to", {.block = {32, 1, 1}},
               reinterpret_cast<int*>(16));
  std::thread([] {
    expect_fault(SOFTGPU_KERNEL_ILLEGAL_ADDRESS, "an illegal memory access at 0x10", "store_to", {},
                 reinterpret_cast<int*>(16));
  }).join();
}

TEST_F(HardwareFault, DivisionByZeroEndsTheLaunch) {
  int out = 0;
  ASSERT_EQ(launch("divide_by", {.block = {8, 1, 1}}, 2, &out), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out, 4);
  expect_fault(SOFTGPU_KERNEL_TRAP, "integer division by zero", "divide_by", {}, 0, &out);
}

TEST_F(HardwareFault, WritingPastDynamicSharedMemoryIsFound) {
  Shape const shape{.dynamic_shared_bytes = 100};
  EXPECT_EQ(launch("overrun_shared", shape, 99u), SOFTGPU_KERNEL_OK);
  expect_fault(SOFTGPU_KERNEL_ILLEGAL_ADDRESS, "past the end of its dynamic shared memory", "overrun_shared", shape,
               100u);
}

TEST_F(HardwareFault, FaultsOutsideKernelsKeepTheirUsualEnd) {
  EXPECT_EQ(launch("no_parameters", {}), SOFTGPU_KERNEL_OK);
  // Volatile: the optimiser would see that the address is wild.
  volatile std::uintptr_t const wild = 16;
  EXPECT_EXIT(*reinterpret_cast<volatile int*>(wild) = 1, ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace tidemark::softgpu::testing
