// SPDX-License-Identifier: Apache-2.0
// Compiled with --default-stream per-thread: stream 0 of every call in this file is the calling thread's own stream. It
// is ordered with the legacy stream, not with the other threads' streams. (Inline functions that other files compile
// too must not depend on this: they name their stream.)
#include <atomic>
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

constexpr std::size_t kWords = 2000, kBytes = kWords * 4;

class PerThreadStream : public Conformance {};

unsigned long long id_of(cudaStream_t stream) {
  unsigned long long id = 0;
  EXPECT_OK(cudaStreamGetId(stream, &id));
  return id;
}

TEST_F(PerThreadStream, IsStreamZeroHere) {
  EXPECT_EQ(id_of(cudaStreamPerThread), id_of(nullptr));
  EXPECT_NE(id_of(cudaStreamLegacy), id_of(nullptr));
}

TEST_F(PerThreadStream, EachThreadHasItsOwn) {
  unsigned long long const mine = id_of(nullptr);
  unsigned long long theirs = 0;
  std::thread([&] { theirs = id_of(nullptr); }).join();
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(mine, id_of(nullptr));
}

TEST_F(PerThreadStream, KeepsTheOrderOfItsThread) {
  NEEDS_VALUES();
  DeviceBytes const a(kBytes), b(kBytes);
  ASSERT_OK(cudaMemsetAsync(a.get(), 0, kBytes));
  ASSERT_OK(launch_fill(a.words(), kWords, 5, cudaStreamPerThread));
  ASSERT_OK(cudaMemcpyAsync(b.get(), a.get(), kBytes, cudaMemcpyDeviceToDevice));
  std::vector<std::uint32_t> host(kWords);
  ASSERT_OK(cudaMemcpy(host.data(), b.get(), kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(0u, wrong_words(host, 5));
}

TEST_F(PerThreadStream, DoesNotWaitForOtherThreads) {
  DeviceBytes const a(kBytes);
  std::atomic<bool> blocked{false}, done{false};
  std::thread other([&] {
    Gate gate(cudaStreamPerThread);  // holds that thread's stream
    blocked = true;
    while (!done) std::this_thread::yield();
  });
  while (!blocked) std::this_thread::yield();
  EXPECT_OK(cudaMemset(a.get(), 1, kBytes));
  EXPECT_OK(cudaStreamSynchronize(nullptr));  // would hang
  done = true;
  other.join();
}

TEST_F(PerThreadStream, WaitsForTheLegacyStreamAndItForThis) {
  NEEDS_VALUES();
  DeviceBytes const a(kBytes), b(kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 7, cudaStreamLegacy));
  ASSERT_OK(launch_add(a.words(), kWords, 1, cudaStreamPerThread));
  ASSERT_OK(launch_copy(b.words(), a.words(), kWords, cudaStreamLegacy));
  std::vector<std::uint32_t> host(kWords);
  ASSERT_OK(cudaStreamSynchronize(cudaStreamLegacy));
  ASSERT_OK(cudaMemcpy(host.data(), b.get(), kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(0u, wrong_words(host, 7, 1));
}

TEST_F(PerThreadStream, EventsAreRecordedInIt) {
  Event const event(cudaEventDisableTiming);
  Gate gate(cudaStreamPerThread);
  EXPECT_OK(cudaEventRecord(event));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
}

TEST_F(PerThreadStream, AllocatesInItsOrder) {
  NEEDS_VALUES();
  std::vector<std::uint32_t> host(kWords);
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    std::uint32_t* words = nullptr;
    ASSERT_OK(cudaMallocAsync(&words, kBytes, nullptr));
    ASSERT_OK(launch_fill(words, kWords, seed, cudaStreamPerThread));
    ASSERT_OK(cudaMemcpyAsync(host.data(), words, kBytes, cudaMemcpyDeviceToHost));
    ASSERT_OK(cudaFreeAsync(words, nullptr));
    ASSERT_OK(cudaStreamSynchronize(nullptr));
    EXPECT_EQ(0u, wrong_words(host, seed));
  }
}

TEST_F(PerThreadStream, CannotBeDestroyed) {
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
}

TEST_F(PerThreadStream, AThreadThatEndsEndsItsCapture) {
  NEEDS_SOFTGPU();
  std::thread([] {
    EXPECT_OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    EXPECT_OK(cudaLaunchHostFunc(
        cudaStreamPerThread, [](void*) {}, nullptr));
  }).join();
  Stream const another;  // streams that are over go now
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaStreamSynchronize(cudaStreamLegacy));
}

}  // namespace
}  // namespace conformance
