// SPDX-License-Identifier: Apache-2.0
// Events: points in a stream's order, with time.
#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class EventApi : public Conformance {};

TEST_F(EventApi, NeverRecordedIsDone) {
  // "Before the first call to cudaEventRecord(), an event represents an empty set of work, so for example
  // cudaEventQuery() would return cudaSuccess."
  Event const event;
  Stream const stream(cudaStreamNonBlocking);
  EXPECT_OK(cudaEventQuery(event));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaStreamWaitEvent(stream, event, 0));
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST_F(EventApi, CapturesTheWorkBeforeIt) {
  Event const before, after;
  Stream const stream(cudaStreamNonBlocking);
  EXPECT_OK(cudaEventRecord(before, stream));
  EXPECT_OK(cudaEventSynchronize(before));
  {
    Gate gate(stream);
    EXPECT_OK(cudaEventRecord(after, stream));
    EXPECT_OK(cudaEventQuery(before));
    EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(after));
    gate.open();
    EXPECT_OK(cudaEventSynchronize(after));
    EXPECT_OK(cudaEventQuery(after));
  }
}

TEST_F(EventApi, LaterWorkDoesNotMoveIt) {
  Event const event;
  Stream const stream(cudaStreamNonBlocking);
  EXPECT_OK(cudaEventRecord(event, stream));
  Gate gate(stream);
  EXPECT_OK(cudaEventSynchronize(event));  // would hang
}

TEST_F(EventApi, RecordingAgainReplacesIt) {
  // "cudaEventRecord() can be called multiple times on the same event and will overwrite the previously captured
  // state."
  Event const event;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  Gate gate(one);
  EXPECT_OK(cudaEventRecord(event, one));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  EXPECT_OK(cudaEventRecord(event, other));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaEventQuery(event));
}

TEST_F(EventApi, WaitsAreForWhatWasRecordedAtTheirCall) {
  // "cudaStreamWaitEvent() use the most recently captured state at the time of the API call"
  Event const event;
  Stream const gated(cudaStreamNonBlocking), waiting(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  DeviceBytes const device(64);
  Gate gate(gated);
  EXPECT_OK(cudaEventRecord(event, gated));
  EXPECT_OK(cudaStreamWaitEvent(waiting, event, 0));
  EXPECT_OK(cudaEventRecord(event, other));
  EXPECT_OK(cudaMemsetAsync(device.get(), 1, 64, waiting));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(waiting));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(waiting));
}

TEST_F(EventApi, IsDestroyedWhilePending) {
  // "An event may be destroyed before it is complete ... the call does not block on completion of the event"
  Stream const stream(cudaStreamNonBlocking), waiting(cudaStreamNonBlocking);
  DeviceBytes const device(64);
  Gate gate(stream);
  {
    Event const event;
    EXPECT_OK(cudaEventRecord(event, stream));
    EXPECT_OK(cudaStreamWaitEvent(waiting, event, 0));
  }
  EXPECT_OK(cudaMemsetAsync(device.get(), 3, 64, waiting));
  for (int i = 0; i < 10; ++i) EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(waiting));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(waiting));
}

TEST_F(EventApi, ElapsedTimeIsOfTheWorkBetween) {
  Event const start, end;
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaEventRecord(start, stream));
  ASSERT_OK(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
  ASSERT_OK(cudaEventRecord(end, stream));
  ASSERT_OK(cudaEventSynchronize(end));
  float ms = -1;
  ASSERT_OK(cudaEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 15.0f);
  EXPECT_LT(ms, 5000.0f);
  float back = 0;
  ASSERT_OK(cudaEventElapsedTime(&back, end, start));
  EXPECT_NEAR(-ms, back, 0.01);
  ASSERT_OK(cudaEventElapsedTime(&ms, start, start));
  EXPECT_EQ(0.0f, ms);
}

TEST_F(EventApi, ElapsedTimeNeedsTwoFinishedTimedEvents) {
  Event const start, end, never, untimed(cudaEventDisableTiming);
  Stream const stream(cudaStreamNonBlocking);
  float ms = 0;
  ASSERT_OK(cudaEventRecord(start, stream));
  ASSERT_OK(cudaEventRecord(untimed, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, never));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventElapsedTime(nullptr, start, start));
  Gate gate(stream);
  ASSERT_OK(cudaEventRecord(end, stream));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
}

TEST_F(EventApi, RefusesBadArguments) {
  cudaEvent_t event = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreate(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x100));
  // "cudaEventInterprocess must be specified along with cudaEventDisableTiming"
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventDestroy(nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr, nullptr));
}

TEST_F(EventApi, DestroyedHandlesAreRefused) {
  NEEDS_SOFTGPU();  // undefined on a GPU
  cudaEvent_t event = nullptr;
  ASSERT_OK(cudaEventCreate(&event));
  ASSERT_OK(cudaEventDestroy(event));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventSynchronize(event));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(event, nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(nullptr, event, 0));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventQuery(reinterpret_cast<cudaEvent_t>(&on_stack)));
}

TEST_F(EventApi, BelongsToItsDevice) {
  // "event and stream must be on the same CUDA context": otherwise cudaErrorInvalidResourceHandle
  NEEDS_DEVICES(2);
  Event const event;
  ASSERT_OK(cudaSetDevice(1));
  {
    Stream const stream;
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(event, stream));
    EXPECT_OK(cudaEventQuery(event));
  }
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(EventApi, ElapsedTimeIsOfOneDevice) {
  NEEDS_DEVICES(2);
  Event const first;
  ASSERT_OK(cudaEventRecord(first));
  ASSERT_OK(cudaDeviceSynchronize());
  ASSERT_OK(cudaSetDevice(1));
  {
    Event const second;
    ASSERT_OK(cudaEventRecord(second));
    ASSERT_OK(cudaDeviceSynchronize());
    float ms = -1;
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, first, second));
  }
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(EventApi, RecordOnTheLegacyStreamCoversBlockingStreams) {
  Stream const blocking;
  Event const event;
  Gate gate(blocking);
  EXPECT_OK(cudaEventRecord(event, nullptr));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
}

}  // namespace
}  // namespace conformance
