// SPDX-License-Identifier: Apache-2.0
// Work that waits for the host: whoever puts an order or a wait between streams that the program did not ask for hangs
// here. Each in a process of its own, since the first streams of a process are the ones that matter.
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Held : public Conformance {};

// A block that was used, freed and handed out again, so that there is something to be careful about.
void use_and_reuse(cudaStream_t stream) {
  for (int i = 0; i < 4; ++i) {
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 1 << 16));
    ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(block), 1 << 14, 1, stream));
    ASSERT_OK(cudaFree(block));
  }
}

void set_and_wait(cudaStream_t stream, void* block) {
  ASSERT_OK(cudaMemsetAsync(block, 1, 256, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
}

TEST_F(Held, ASecondStreamGoesOnBesideAHeldOne) {
  NEEDS_VALUES();
  in_child([] {
    Stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 1 << 16));
    use_and_reuse(first);
    {
      Gate const gate(first);
      set_and_wait(second, block);
    }
    ASSERT_OK(cudaFree(block));
  });
}

TEST_F(Held, ASecondStreamGoesOnBesideAFirstOneThatIsHeldFromTheBeginning) {
  in_child([] {
    Stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 1 << 16));
    {
      Gate const gate(first);
      set_and_wait(second, block);
    }
    ASSERT_OK(cudaFree(block));
  });
}

TEST_F(Held, AThreadsOwnStreamGoesOnBesideAnothers) {
  in_child([] {
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 1 << 16));
    use_and_reuse(cudaStreamPerThread);
    {
      Gate const gate(cudaStreamPerThread);
      std::thread([&] { set_and_wait(cudaStreamPerThread, block); }).join();
    }
    ASSERT_OK(cudaFree(block));
  });
}

// A word of pinned memory holds the stream, without any host function.
TEST_F(Held, ASecondStreamGoesOnBesideOneThatWaitsForAWord) {
  NEEDS_VALUES();
  in_child([] {
    Stream const first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    PinnedBytes const word(4);
    word.words()[0] = 0;
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 1 << 16));
    use_and_reuse(first);
    ASSERT_OK(cuStreamWaitValue32(first, reinterpret_cast<CUdeviceptr>(word.get()), 1, CU_STREAM_WAIT_VALUE_EQ));
    set_and_wait(second, block);
    std::atomic_ref(word.words()[0]).store(1);
    ASSERT_OK(cudaStreamSynchronize(first));
    ASSERT_OK(cudaFree(block));
  });
}

// Two contexts, the second of which has a stream that is held.
class TwoContexts {
 public:
  TwoContexts() {
    EXPECT_OK(cuCtxGetCurrent(&primary_));
    EXPECT_OK(cuCtxCreate(&other_, nullptr, 0, 0));
    EXPECT_OK(cuCtxSetCurrent(primary_));
  }
  void in_primary() { EXPECT_OK(cuCtxSetCurrent(primary_)); }
  void in_other() { EXPECT_OK(cuCtxSetCurrent(other_)); }
  void end_other() { EXPECT_OK(cuCtxDestroy(other_)); }

 private:
  CUcontext primary_ = nullptr, other_ = nullptr;
};

TEST_F(Held, AContextEndsWhileAnothersStreamIsHeld) {
  in_child([] {
    TwoContexts contexts;
    Stream const stream(cudaStreamNonBlocking);
    use_and_reuse(stream);
    contexts.in_other();
    CUdeviceptr blocks[8] = {};
    for (CUdeviceptr& block : blocks) ASSERT_OK(cuMemAlloc(&block, 3 << 20));
    ASSERT_OK(cuMemsetD8(blocks[0], 1, 3 << 20));
    contexts.in_primary();
    Gate const gate(stream);
    contexts.end_other();
    contexts.in_primary();
  });
}

TEST_F(Held, AFreeWaitsForItsOwnContextOnly) {
  in_child([] {
    TwoContexts contexts;
    Stream const stream(cudaStreamNonBlocking);
    PinnedBytes const pinned(4);
    contexts.in_other();
    CUdeviceptr block = 0;
    ASSERT_OK(cuMemAlloc(&block, 3 << 20));
    contexts.in_primary();
    {
      Gate const gate(stream);
      contexts.in_other();
      ASSERT_OK(cuMemsetD8Async(block, 1, 3 << 20, nullptr));
      ASSERT_OK(cuMemFree(block));
      contexts.in_primary();
    }
    contexts.end_other();
    contexts.in_primary();
  });
}

// As the driver's own would have done.
TEST_F(Held, AFreeWaitsForItsContextWhereTheHostCanSee) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1 << 16;
  Stream const stream(cudaStreamNonBlocking);
  PinnedBytes const seen(kWords * 4);
  seen.words()[kWords - 1] = 0;
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, kWords * 4));
  ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(block), kWords, 77, stream));
  ASSERT_OK(cudaMemcpyAsync(seen.get(), block, kWords * 4, cudaMemcpyDeviceToHost, stream));
  ASSERT_OK(cudaFree(block));
  EXPECT_EQ(expected_word(77, kWords - 1), seen.words()[kWords - 1]);
}

}  // namespace
}  // namespace conformance
