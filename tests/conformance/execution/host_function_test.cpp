// SPDX-License-Identifier: Apache-2.0
// Host functions and stream callbacks.
#include <mutex>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class HostFunction : public Conformance {};

struct Log {
  std::mutex mutex;
  std::vector<int> entries;
  void add(int entry) {
    std::lock_guard const lock(mutex);
    entries.push_back(entry);
  }
};

struct Note {
  Log* log;
  int number;
};

void write_note(void* data) {
  auto const* const note = static_cast<Note*>(data);
  note->log->add(note->number);
}

TEST_F(HostFunction, RunsOnceInOrder) {
  Log log;
  Stream const stream(cudaStreamNonBlocking);
  std::vector<Note> notes;
  for (int i = 0; i < 50; ++i) notes.push_back({&log, i});
  for (Note& note : notes) ASSERT_OK(cudaLaunchHostFunc(stream, &write_note, &note));
  ASSERT_OK(cudaStreamSynchronize(stream));
  ASSERT_EQ(50u, log.entries.size());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(i, log.entries[static_cast<std::size_t>(i)]);
}

TEST_F(HostFunction, RunsAfterTheWorkBeforeIt) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1000;
  struct Seen {
    const std::uint32_t* words;
    std::size_t wrong = 1;
  };
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kWords * 4);
  PinnedBytes const out(kWords * 4);
  Seen seen{out.words()};
  ASSERT_OK(launch_fill(device.words(), kWords, 4, stream));
  ASSERT_OK(cudaMemcpyAsync(out.get(), device.get(), kWords * 4, cudaMemcpyDeviceToHost, stream));
  ASSERT_OK(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        auto* const s = static_cast<Seen*>(data);
        s->wrong = wrong_words({s->words, s->words + kWords}, 4);
      },
      &seen));
  ASSERT_OK(cudaMemsetAsync(out.get(), 0, kWords * 4, stream));  // "will block work added after it"
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, seen.wrong);
  EXPECT_EQ(0u, out.words()[kWords - 1]);
}

TEST_F(HostFunction, BlocksTheStreamWhileItRuns) {
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(64);
  ASSERT_OK(cudaMemset(device.get(), 0, 64));
  ASSERT_OK(cudaDeviceSynchronize());
  {
    Gate gate(stream);
    ASSERT_OK(cudaMemsetAsync(device.get(), 1, 64, stream));
    for (int i = 0; i < 10; ++i) EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT_EQ(std::byte{0}, device.read()[0]);
  }
  EXPECT_EQ(std::byte{1}, device.read()[0]);
}

TEST_F(HostFunction, CallbacksGetTheirStreamAndStatus) {
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
    int calls = 0;
  };
  Seen seen;
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t s, cudaError_t status, void* data) {
        auto* const out = static_cast<Seen*>(data);
        *out = {s, status, out->calls + 1};
      },
      &seen, 0));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(1, seen.calls);
  EXPECT_EQ(static_cast<cudaStream_t>(stream), seen.stream);
  EXPECT_EQ(cudaSuccess, seen.status);
}

TEST_F(HostFunction, CallbacksMayNotCallCuda) {
  // "Callbacks must not make any CUDA API calls. Attempting to use CUDA APIs may result in cudaErrorNotPermitted."
  NEEDS_SOFTGPU();
  std::vector<cudaError_t> errors;
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t s, cudaError_t, void* data) {
        auto* const out = static_cast<std::vector<cudaError_t>*>(data);
        void* p = nullptr;
        int device = 0;
        out->push_back(cudaMalloc(&p, 16));
        out->push_back(cudaStreamSynchronize(s));
        out->push_back(cudaDeviceSynchronize());
        out->push_back(cudaSetDevice(0));
        out->push_back(cudaGetDevice(&device));
      },
      &errors, 0));
  ASSERT_OK(cudaStreamSynchronize(stream));
  ASSERT_EQ(5u, errors.size());
  for (cudaError_t const error : errors) EXPECT_EQ(cudaErrorNotPermitted, error);
  void* p = nullptr;
  EXPECT_OK(cudaMalloc(&p, 16));
  EXPECT_OK(cudaFree(p));
}

TEST_F(HostFunction, IsOrderedAcrossStreamsByEvents) {
  Log log;
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  Event const event(cudaEventDisableTiming);
  Note first{&log, 1}, second{&log, 2}, third{&log, 3};
  ASSERT_OK(cudaLaunchHostFunc(one, &write_note, &first));
  ASSERT_OK(cudaEventRecord(event, one));
  ASSERT_OK(cudaStreamWaitEvent(other, event, 0));
  ASSERT_OK(cudaLaunchHostFunc(other, &write_note, &second));
  ASSERT_OK(cudaEventRecord(event, other));
  ASSERT_OK(cudaStreamWaitEvent(one, event, 0));
  ASSERT_OK(cudaLaunchHostFunc(one, &write_note, &third));
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ((std::vector<int>{1, 2, 3}), log.entries);
}

TEST_F(HostFunction, RefusesBadArguments) {
  EXPECT_CUDA(cudaErrorInvalidValue, cudaLaunchHostFunc(nullptr, nullptr, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamAddCallback(nullptr, nullptr, nullptr, 0));
  auto const nothing = [](cudaStream_t, cudaError_t, void*) {};
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamAddCallback(nullptr, nothing, nullptr, 1));  // "must be 0"
}

}  // namespace
}  // namespace conformance
