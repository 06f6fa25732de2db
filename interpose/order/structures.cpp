// SPDX-License-Identifier: Apache-2.0
#include "interpose/order/structures.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>

namespace tidemark::interpose::order {
namespace {

template <class T>
const T* pointer(std::uint64_t word) {
  return reinterpret_cast<const T*>(word);
}

std::uint64_t number(const void* stream) {
  return reinterpret_cast<std::uint64_t>(stream);
}

// cudaLaunchParams of CUDA 12, which 13's headers do not declare any more.
struct RuntimeMultiDevice {
  void* function;
  unsigned int shape[6];
  void** arguments;
  std::size_t shared_bytes;
  void* stream;
};

bool is(const Entry& entry, const char* name) {
  return strncmp(entry.name, name, strlen(name)) == 0;
}

}  // namespace

void for_each_stream(const Entry& entry, const Arguments& arguments, void (*f)(std::uint64_t, void*), void* data) {
  std::uint64_t const first = arguments.integer[0];
  if (first == 0) return;  // the call will say so
  if (is(entry, "cuLaunchCooperativeKernelMultiDevice")) {
    auto const count = static_cast<unsigned int>(arguments.integer[1]);
    for (unsigned int i = 0; i < count; ++i) f(number(pointer<CUDA_LAUNCH_PARAMS>(first)[i].hStream), data);
  } else if (is(entry, "cudaLaunchCooperativeKernelMultiDevice")) {
    auto const count = static_cast<unsigned int>(arguments.integer[1]);
    for (unsigned int i = 0; i < count; ++i) f(number(pointer<RuntimeMultiDevice>(first)[i].stream), data);
  } else if (is(entry, "cuLaunchKernelEx")) {
    f(number(pointer<CUlaunchConfig>(first)->hStream), data);
  } else if (is(entry, "cudaLaunchKernelExC")) {
    f(number(pointer<cudaLaunchConfig_t>(first)->stream), data);
  }
}

}  // namespace tidemark::interpose::order
