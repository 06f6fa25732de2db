// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests of the runtime alone: it answers cuGetProcAddress_v2, writes down what it was asked for and
// what was called, and returns the results that a test sets. Not thread-safe except where a test needs it.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <cuda.h>

struct FakeRequest {
  std::string name;
  int version;
  std::uint64_t flags;
  auto operator<=>(const FakeRequest&) const = default;
};

struct FakeDescription {
  const void* image;
  std::string kind, name;
  std::size_t bytes;
};

struct FakeDriver {
  std::vector<FakeRequest> requests;
  // The functions called, in order; a per-thread form has a "/ptsz" at its end.
  std::vector<std::string> calls;
  // What a function returns instead of success.
  std::map<std::string, CUresult> results;
  std::vector<FakeDescription> descriptions;
  std::vector<const void*> loaded_images;
  CUlaunchConfig last_launch{};
  void* last_function = nullptr;
  CUDA_MEMCPY3D last_copy{};
  CUDA_MEMCPY2D last_rows{};
  CUpointer_attribute last_attribute{};
  unsigned memory_type = 0;
};

// Exported by the fake as fake_driver().
using FakeDriverFn = FakeDriver& (*)();
// Names in the environment variable FAKE_DRIVER_WITHOUT (comma-separated) are not found.
