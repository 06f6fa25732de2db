// SPDX-License-Identifier: Apache-2.0
// What is ordered after what: within a stream, by the legacy default stream, by events. Every kernel here reads what an
// earlier one wrote, so that work which runs too early leaves wrong values.
#include <memory>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

constexpr std::size_t kWords = 2000, kBytes = kWords * 4;

class Order : public Conformance {};

TEST_F(Order, OneStreamRunsInOrder) {
  NEEDS_VALUES();
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const a(kBytes), b(kBytes), c(kBytes);
  for (std::uint32_t round = 0; round < 20; ++round) {
    ASSERT_OK(launch_fill(a.words(), kWords, round, stream));
    ASSERT_OK(launch_copy(b.words(), a.words(), kWords, stream));
    ASSERT_OK(launch_add(b.words(), kWords, round, stream));
    ASSERT_OK(cudaMemcpyAsync(c.get(), b.get(), kBytes, cudaMemcpyDeviceToDevice, stream));
    ASSERT_OK(cudaMemsetAsync(a.get(), 0, kBytes, stream));
  }
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(c.words(), kWords, 19, 19));
}

TEST_F(Order, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  NEEDS_VALUES();
  Stream const one, other;
  DeviceBytes const a(kBytes), b(kBytes), c(kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 1, one));
  ASSERT_OK(launch_fill(b.words(), kWords, 2, other));
  ASSERT_OK(launch_add(a.words(), kWords, 10, nullptr));  // after both
  ASSERT_OK(launch_add(b.words(), kWords, 20, nullptr));
  ASSERT_OK(launch_copy(c.words(), a.words(), kWords, other));  // after the legacy stream's
  ASSERT_OK(launch_add(b.words(), kWords, 300, one));
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_on_device(c.words(), kWords, 1, 10));
  EXPECT_EQ(0u, wrong_on_device(b.words(), kWords, 2, 320));
}

TEST_F(Order, SynchronisingTheLegacyStreamCoversBlockingStreams) {
  NEEDS_VALUES();
  Stream const one, other;
  PinnedBytes const out(kBytes);
  DeviceBytes const a(kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 3, one));
  ASSERT_OK(cudaMemcpyAsync(out.get(), a.get(), kBytes, cudaMemcpyDeviceToHost, one));
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(0u, wrong_words({out.words(), out.words() + kWords}, 3));
}

TEST_F(Order, NonBlockingStreamsDoNotWaitForTheLegacyStream) {
  Stream const independent(cudaStreamNonBlocking);
  DeviceBytes const a(kBytes);
  Gate gate(nullptr);
  ASSERT_OK(cudaMemsetAsync(a.get(), 1, kBytes, independent));
  EXPECT_OK(cudaStreamSynchronize(independent));  // would hang
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(nullptr));
}

TEST_F(Order, TheLegacyStreamDoesNotWaitForNonBlockingStreams) {
  Stream const independent(cudaStreamNonBlocking);
  DeviceBytes const a(kBytes);
  Gate gate(independent);
  ASSERT_OK(cudaMemsetAsync(a.get(), 1, kBytes, nullptr));
  EXPECT_OK(cudaStreamSynchronize(nullptr));  // would hang
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(independent));
}

TEST_F(Order, BlockingStreamsWaitForTheLegacyStream) {
  Stream const blocking;
  DeviceBytes const a(kBytes);
  Gate gate(nullptr);
  ASSERT_OK(cudaMemsetAsync(a.get(), 1, kBytes, blocking));
  for (int i = 0; i < 20; ++i) EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(blocking));
}

TEST_F(Order, BlockingStreamsDoNotWaitForEachOther) {
  Stream const one, other;
  DeviceBytes const a(kBytes);
  Gate gate(one);
  ASSERT_OK(cudaMemsetAsync(a.get(), 1, kBytes, other));
  EXPECT_OK(cudaStreamSynchronize(other));  // would hang
}

TEST_F(Order, EventsOrderStreams) {
  NEEDS_VALUES();
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  Event const written(cudaEventDisableTiming), read(cudaEventDisableTiming);
  DeviceBytes const a(kBytes), sum(kBytes);
  ASSERT_OK(launch_fill(sum.words(), kWords, 0, other));
  for (std::uint32_t round = 0; round < 30; ++round) {
    ASSERT_OK(launch_fill(a.words(), kWords, round, one));
    ASSERT_OK(cudaEventRecord(written, one));
    ASSERT_OK(cudaStreamWaitEvent(other, written, 0));
    ASSERT_OK(launch_copy(sum.words(), a.words(), kWords, other));
    ASSERT_OK(cudaEventRecord(read, other));
    ASSERT_OK(cudaStreamWaitEvent(one, read, 0));
  }
  ASSERT_OK(cudaStreamSynchronize(other));
  EXPECT_EQ(0u, wrong_on_device(sum.words(), kWords, 29));
}

TEST_F(Order, AChainOfStreamsThroughOneEvent) {
  // A wait is for the work captured at its call; recording the event again does not move it.
  NEEDS_VALUES();
  constexpr std::size_t kStreams = 8;
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Stream>(cudaStreamNonBlocking));
  Event const event(cudaEventDisableTiming);
  DeviceBytes const a(kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 6, *streams[0]));
  for (std::size_t i = 1; i < 100; ++i) {
    ASSERT_OK(cudaEventRecord(event, *streams[(i - 1) % kStreams]));
    ASSERT_OK(cudaStreamWaitEvent(*streams[i % kStreams], event, 0));
    ASSERT_OK(launch_add(a.words(), kWords, 1, *streams[i % kStreams]));
  }
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_on_device(a.words(), kWords, 6, 99));
}

TEST_F(Order, StreamsOfTwoDevicesThroughAnEvent) {
  NEEDS_DEVICES(2);
  NEEDS_VALUES();
  Stream const first(cudaStreamNonBlocking);
  Event const event(cudaEventDisableTiming);
  DeviceBytes const a(kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 4, first));
  ASSERT_OK(cudaEventRecord(event, first));
  ASSERT_OK(cudaSetDevice(1));
  {
    Stream const second(cudaStreamNonBlocking);
    DeviceBytes const b(kBytes);
    // "The event may be from a different context or device than the stream."
    ASSERT_OK(cudaStreamWaitEvent(second, event, 0));
    ASSERT_OK(cudaMemcpyPeerAsync(b.get(), 1, a.get(), 0, kBytes, second));
    ASSERT_OK(cudaStreamSynchronize(second));
    EXPECT_EQ(0u, wrong_on_device(b.words(), kWords, 4));
  }
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(Order, DeviceSynchroniseCoversEveryStream) {
  NEEDS_VALUES();
  Stream const blocking, independent(cudaStreamNonBlocking);
  DeviceBytes const a(kBytes), b(kBytes), c(kBytes);
  PinnedBytes const out(3 * kBytes);
  ASSERT_OK(launch_fill(a.words(), kWords, 1, blocking));
  ASSERT_OK(launch_fill(b.words(), kWords, 2, independent));
  ASSERT_OK(launch_fill(c.words(), kWords, 3, cudaStreamPerThread));
  ASSERT_OK(cudaMemcpyAsync(out.get(), a.get(), kBytes, cudaMemcpyDeviceToHost, blocking));
  ASSERT_OK(cudaMemcpyAsync(out.get() + kBytes, b.get(), kBytes, cudaMemcpyDeviceToHost, independent));
  ASSERT_OK(cudaMemcpyAsync(out.get() + 2 * kBytes, c.get(), kBytes, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  ASSERT_OK(cudaDeviceSynchronize());
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::uint32_t const* const words = out.words() + i * kWords;
    EXPECT_EQ(0u, wrong_words({words, words + kWords}, i + 1));
  }
}

TEST_F(Order, SynchronousMemoryOperationsCanBeMadeToSynchronise) {
  // SYNC_MEMOPS: "synchronous memory operations initiated on the memory region ... will always synchronize"
  Stream const independent(cudaStreamNonBlocking);
  DeviceBytes const a(kBytes), b(kBytes);
  unsigned const on = 1;
  ASSERT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a.address()));
  ASSERT_OK(cudaMemset(a.get(), 0x21, kBytes));
  EXPECT_OK(cudaStreamQuery(nullptr));
  ASSERT_OK(cudaMemcpyAsync(b.get(), a.get(), kBytes, cudaMemcpyDeviceToDevice, independent));
  ASSERT_OK(cudaStreamSynchronize(independent));
  EXPECT_EQ(std::vector<std::byte>(kBytes, std::byte{0x21}), b.read());
}

}  // namespace
}  // namespace conformance
