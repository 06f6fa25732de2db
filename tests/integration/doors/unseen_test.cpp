// SPDX-License-Identifier: Apache-2.0
// Served memory is not handed out again before work is done that was submitted by a function which nobody knows. The
// device works as late as it may: what is queued comes last.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

namespace tidemark::doors {
namespace {

constexpr std::size_t kBytes = 1 << 20;

TEST(Unseen, WorkHoldsTheMemoryThatItUses) {
  void* const driver = dlopen(UNSEEN_DRIVER, RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();
  CUcontext context = nullptr;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUstream streams[2] = {};
  CUdeviceptr block = 0;
  ASSERT_EQ(cuMemAlloc(&block, kBytes), CUDA_SUCCESS);
  for (CUstream& stream : streams) {
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(block, 1, kBytes, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  auto const unseen =
      reinterpret_cast<CUresult (*)(CUdeviceptr, unsigned char, std::size_t, CUstream)>(dlsym(driver, "cuNobodyKnows"));
  ASSERT_NE(unseen, nullptr);
  ASSERT_EQ(unseen(block, 2, kBytes, streams[0]), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(block), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&block, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(block, 3, kBytes, streams[1]), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(streams[1]), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  std::vector<unsigned char> seen(kBytes);
  ASSERT_EQ(cuMemcpyDtoH(seen.data(), block, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(seen, std::vector<unsigned char>(kBytes, 3));
  EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tidemark::doors
