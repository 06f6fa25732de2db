// SPDX-License-Identifier: Apache-2.0
// Memory and captures: what is unsafe while a stream is captured stays unsafe whoever answers, and what is freed
// meanwhile is not lost.
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class CaptureMemory : public Conformance {};

// Ends a capture that something unsafe has broken, or that is well.
void end_capture(cudaStream_t stream, cudaError_t expected) {
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(expected, cudaStreamEndCapture(stream, &graph));
  if (graph != nullptr) {
    EXPECT_OK(cudaGraphDestroy(graph));
  }
}

void allocate_in_capture() {
  Stream const stream(cudaStreamNonBlocking);
  void* block = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaMalloc(&block, 4096));
  end_capture(stream, cudaErrorStreamCaptureInvalidated);
  ASSERT_OK(cudaMalloc(&block, 4096));
  ASSERT_OK(cudaFree(block));
}

TEST_F(CaptureMemory, AnAllocationIsUnsafe) {
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, 4096));
  ASSERT_OK(cudaFree(block));
  allocate_in_capture();
}

TEST_F(CaptureMemory, TheVeryFirstAllocationIsUnsafeToo) {
  in_child([] { allocate_in_capture(); });
}

TEST_F(CaptureMemory, AnAllocationOfAnotherThreadIsUnsafeInTheGlobalMode) {
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, 4096));
  ASSERT_OK(cudaFree(block));
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::thread([] {
    void* other = nullptr;
    EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaMalloc(&other, 4096));
  }).join();
  end_capture(stream, cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureMemory, AFreeIsUnsafe) {
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, 4096));
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaFree(block));
  end_capture(stream, cudaErrorStreamCaptureInvalidated);
  ASSERT_OK(cudaFree(block));
}

TEST_F(CaptureMemory, ARelaxedCaptureLetsMemoryComeAndGo) {
  NEEDS_VALUES();
  DeviceBytes const target(4096);
  void *before = nullptr, *during = nullptr;
  ASSERT_OK(cudaMalloc(&before, 4096));
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaMalloc(&during, 4096));
  ASSERT_OK(launch_fill(target.words(), 1024, 9, stream));
  ASSERT_OK(cudaFree(before));
  ASSERT_OK(cudaFree(during));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphInstantiate(&runnable, graph, 0));
  ASSERT_OK(cudaGraphLaunch(runnable, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(target.words(), 1024, 9));
  ASSERT_OK(cudaGraphExecDestroy(runnable));
  ASSERT_OK(cudaGraphDestroy(graph));
}

// No byte is left: a free is answered all the same.
TEST_F(CaptureMemory, AFreeInARelaxedCaptureOfAFullDevice) {
  NEEDS_SOFTGPU();
  Stream const stream(cudaStreamNonBlocking);
  std::vector<void*> blocks;
  for (std::size_t bytes = kGiB; bytes >= 512;) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaSuccess)
      blocks.push_back(block);
    else
      bytes /= 2;
  }
  (void)cudaGetLastError();
  ASSERT_FALSE(blocks.empty());
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_OK(cudaFree(blocks.back()));
  blocks.pop_back();
  end_capture(stream, cudaSuccess);
  for (void* const block : blocks) EXPECT_OK(cudaFree(block));
}

TEST_F(CaptureMemory, ACaptureThatEndsWithItsStreamIsOver) {
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, 4096));
  {
    Stream const stream(cudaStreamNonBlocking);
    ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  }
  EXPECT_OK(cudaFree(block));
  ASSERT_OK(cudaMalloc(&block, 4096));
  EXPECT_OK(cudaFree(block));
}

// A node of the graph, not an allocation: its address is the graph's, its end too.
TEST_F(CaptureMemory, AnOrderedAllocationBelongsToTheGraph) {
  NEEDS_VALUES();
  DeviceBytes const target(4096);
  Stream const stream(cudaStreamNonBlocking);
  void* inner = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASSERT_OK(cudaMallocAsync(&inner, 4096, stream));
  ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(inner), 1024, 5, stream));
  ASSERT_OK(launch_copy(target.words(), static_cast<const std::uint32_t*>(inner), 1024, stream));
  ASSERT_OK(cudaFreeAsync(inner, stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < 3; ++i) ASSERT_OK(cudaGraphLaunch(runnable, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(target.words(), 1024, 5));
  ASSERT_OK(cudaGraphExecDestroy(runnable));
  ASSERT_OK(cudaGraphDestroy(graph));
  ASSERT_OK(cudaDeviceGraphMemTrim(0));
}

// What a graph works on lives until its last launch is done, whoever frees it when.
TEST_F(CaptureMemory, ABlockThatIsFreedAfterALaunchIsNotHandedOutBeforeItsEnd) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1 << 16;
  Stream const stream(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  DeviceBytes const wrong(512);
  ASSERT_OK(cudaMemset(wrong.get(), 0, 512));
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, kWords * 4));
  auto* const words = static_cast<std::uint32_t*>(block);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASSERT_OK(launch_fill(words, kWords, 3, stream));
  ASSERT_OK(launch_count_wrong(words, kWords, 3, wrong.words(), stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphInstantiate(&runnable, graph, 0));
  ASSERT_OK(cudaGraphLaunch(runnable, stream));
  ASSERT_OK(cudaFree(block));
  ASSERT_OK(cudaMalloc(&block, kWords * 4));
  ASSERT_OK(cudaMemsetAsync(block, 0xee, kWords * 4, other));
  ASSERT_OK(cudaFree(block));
  ASSERT_OK(cudaDeviceSynchronize());
  std::uint32_t count = 1;
  ASSERT_OK(cudaMemcpy(&count, wrong.get(), 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(0u, count);
  ASSERT_OK(cudaGraphExecDestroy(runnable));
  ASSERT_OK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace conformance
