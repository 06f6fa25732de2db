// SPDX-License-Identifier: Apache-2.0
// What every conformance test needs: calls that say what they gave, memory that goes away by itself, and what kind of
// device this is. The tests run unchanged on softgpu and on a real GPU; where only softgpu promises something (exact
// free memory) or cannot promise it (values in a dry run), they ask here.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace conformance {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

// softgpu exports names that no real driver has.
bool is_softgpu();
// Whether memory comes from an allocator between the program and the driver, which packs it as it likes.
bool is_served();
bool is_dry_run();
bool is_checking();
int device_count();

// A failing runtime call must also be the thread's last error, once: asking for it clears it.
testing::AssertionResult gives(cudaError_t expected, cudaError_t actual, const char* call);
testing::AssertionResult gives(CUresult expected, CUresult actual, const char* call);
testing::AssertionResult is_ok(cudaError_t actual, const char* call);
testing::AssertionResult is_ok(CUresult actual, const char* call);

#define EXPECT_CUDA(expected, ...) EXPECT_TRUE(::conformance::gives(expected, (__VA_ARGS__), #__VA_ARGS__))
#define EXPECT_OK(...) EXPECT_TRUE(::conformance::is_ok((__VA_ARGS__), #__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_TRUE(::conformance::is_ok((__VA_ARGS__), #__VA_ARGS__))

// Said aloud: a skipped test never looks like a passed one.
#define NEEDS_VALUES() \
  if (::conformance::is_dry_run()) GTEST_SKIP() << "a dry run computes no values"
#define NEEDS_SOFTGPU() \
  if (!::conformance::is_softgpu()) GTEST_SKIP() << "a promise of the software device alone"
#define NEEDS_DEVICES(n) \
  if (::conformance::device_count() < (n)) GTEST_SKIP() << "needs " << (n) << " devices"

struct MemoryInfo {
  std::size_t free_bytes = 0, total_bytes = 0;
};
MemoryInfo memory_info();

// Starts on device 0 with a context and no error; on softgpu, free memory at the end is what it was at the start.
class Conformance : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::size_t free_at_start_ = 0;
};

// Memory for a test's scope. The constructor does not assert: a failed allocation is a null pointer that tests trip on.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) { EXPECT_OK(cudaMalloc(&data_, bytes)); }
  ~DeviceBytes() { EXPECT_OK(cudaFree(data_)); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  std::byte* get() const { return static_cast<std::byte*>(data_); }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(data_); }
  std::size_t bytes() const { return bytes_; }
  std::vector<std::byte> read() const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

class PinnedBytes {
 public:
  explicit PinnedBytes(std::size_t bytes) { EXPECT_OK(cudaMallocHost(&data_, bytes)); }
  ~PinnedBytes() { EXPECT_OK(cudaFreeHost(data_)); }
  PinnedBytes(const PinnedBytes&) = delete;
  PinnedBytes& operator=(const PinnedBytes&) = delete;
  std::byte* get() const { return static_cast<std::byte*>(data_); }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamDefault) { EXPECT_OK(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~Stream() { EXPECT_OK(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { EXPECT_OK(cudaEventCreateWithFlags(&event_, flags)); }
  ~Event() { EXPECT_OK(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Bytes that differ from place to place, so that a wrong offset shows.
std::vector<std::byte> noise(std::size_t bytes, std::uint32_t seed);

// Runs the body in a process of its own, which starts anew: for what poisons a context. Fails when the body did.
void begin_child();
[[noreturn]] void end_child();
template <class Body>
void in_child(Body body) {
  auto const run = [&] {
    begin_child();
    body();
    end_child();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace conformance
