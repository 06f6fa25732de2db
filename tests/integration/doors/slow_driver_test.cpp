// SPDX-License-Identifier: Apache-2.0
// A driver that takes its time to say what is in use is asked less often; what is told in the end is right all the
// same.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "tests/integration/doors/own_trace.h"

namespace tidemark::doors {
namespace {

constexpr std::size_t kMiB = 1 << 20;

CUdeviceptr take(std::size_t bytes) {
  CUdeviceptr block = 0;
  EXPECT_EQ(cuMemAlloc(&block, bytes), CUDA_SUCCESS);
  return block;
}

// Longer than the pause after a question.
void let_time_pass() {
  timespec const a_while{.tv_sec = 0, .tv_nsec = 200'000'000};
  nanosleep(&a_while, nullptr);
}

class SlowDriver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(SLOW_DRIVER, RTLD_NOW), nullptr) << dlerror();
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  static inline CUcontext context = nullptr;
};

TEST_F(SlowDriver, ABlockIsNotTakenForWhatAModuleTakesAfterIt) {
  for (int i = 0; i < 20; ++i) take(2 * kMiB);  // by now it is known to be slow
  take(512 * kMiB);
  std::size_t bytes = 0;
  ASSERT_EQ(cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes), CUDA_SUCCESS);
  let_time_pass();
  take(2 * kMiB);
  OwnTrace const own = read_own_trace();
  EXPECT_EQ(own.facts.at("reserved"), "sampled");
  EXPECT_EQ(own.totals.live_bytes, 554 * kMiB);
  EXPECT_EQ(own.totals.reserved_bytes, 554 * kMiB);
}

// A driver may wait where a thread can be cancelled. It was not the program that asked it: the program's call ends as
// it would have, and nobody waits for the one who asked.
TEST_F(SlowDriver, AThreadIsNotCancelledInAQuestionOfOurs) {
  let_time_pass();
  std::uint64_t const before = read_own_trace().totals.allocations;
  CUdeviceptr got = 0;
  std::thread thread([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    pthread_cancel(pthread_self());
    CUdeviceptr const block = take(2 * kMiB);
    got = block;
    pthread_testcancel();
  });
  thread.join();
  EXPECT_NE(got, 0u);
  EXPECT_EQ(read_own_trace().totals.allocations, before + 1);
  std::size_t bytes = 0;
  ASSERT_EQ(cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE), CUDA_SUCCESS);
  alarm(20);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes), CUDA_SUCCESS);
  alarm(0);
}

}  // namespace
}  // namespace tidemark::doors
