// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/support/device.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace conformance {
namespace {

const char* name_of(CUresult result) {
  const char* name = nullptr;
  return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "(not an error code)";
}

const char* name_of(cudaError_t error) {
  return cudaGetErrorName(error);
}

template <class T>
testing::AssertionResult compare(T expected, T actual, const char* call) {
  if (expected == actual) return testing::AssertionSuccess();
  return testing::AssertionFailure() << call << "\n  gave " << name_of(actual) << " (" << actual << "), expected "
                                     << name_of(expected) << " (" << expected << ")";
}

}  // namespace

testing::AssertionResult gives(CUresult expected, CUresult actual, const char* call) {
  return compare(expected, actual, call);
}

testing::AssertionResult gives(cudaError_t expected, cudaError_t actual, const char* call) {
  auto const result = compare(expected, actual, call);
  if (actual == cudaSuccess) return result;
  // "Returns the last error that has been produced by any of the runtime calls in the same host thread and resets it".
  cudaError_t const last = cudaGetLastError();
  if (!result || last == actual || actual == cudaErrorNotReady) return result;
  return testing::AssertionFailure() << call << "\n  gave " << name_of(actual) << ", but the last error was "
                                     << name_of(last);
}

testing::AssertionResult is_ok(cudaError_t actual, const char* call) {
  return gives(cudaSuccess, actual, call);
}

testing::AssertionResult is_ok(CUresult actual, const char* call) {
  return gives(CUDA_SUCCESS, actual, call);
}

bool is_served() {
  const char* const served = std::getenv("CONFORMANCE_SERVED");
  return served != nullptr && std::strcmp(served, "1") == 0;
}

bool is_softgpu() {
  return dlsym(RTLD_DEFAULT, "softgpu_dry_run") != nullptr;
}

bool is_dry_run() {
  static auto const ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "softgpu_dry_run"));
  return ask != nullptr && ask() != 0;
}

bool is_checking() {
  const char* const check = std::getenv("SOFTGPU_CHECK");
  return is_softgpu() && check != nullptr && std::strcmp(check, "1") == 0;
}

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

MemoryInfo memory_info() {
  MemoryInfo info;
  EXPECT_OK(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  return info;
}

void Conformance::SetUp() {
  ASSERT_OK(cudaSetDevice(0));
  ASSERT_OK(cudaFree(nullptr));
  ASSERT_OK(cudaDeviceSynchronize());
  free_at_start_ = memory_info().free_bytes;
}

void Conformance::TearDown() {
  EXPECT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  if (is_softgpu() && !IsSkipped()) {
    EXPECT_EQ(free_at_start_, memory_info().free_bytes);
  }
}

std::vector<std::byte> DeviceBytes::read() const {
  std::vector<std::byte> host(bytes_);
  EXPECT_OK(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost));
  return host;
}

std::vector<std::byte> noise(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::byte> out(bytes);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& b : out) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

void begin_child() {
  EXPECT_OK(cudaFree(nullptr));
}

void end_child() {
  // GoogleTest keeps a child quiet; its parent shows what it wrote to stderr.
  testing::TestResult const& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    testing::TestPartResult const& part = result.GetTestPartResult(i);
    if (part.failed()) std::fprintf(stderr, "%s:%d: %s\n", part.file_name(), part.line_number(), part.message());
  }
  std::exit(result.Failed() ? 1 : 0);
}

}  // namespace conformance
