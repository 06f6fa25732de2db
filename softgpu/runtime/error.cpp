// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/error.h"

#include <atomic>
#include <string>

#include "base/log.h"

namespace tidemark::softgpu::runtime {
namespace {

struct LastError {
  cudaError_t error = cudaSuccess;
  unsigned epoch = 0;
};

constinit thread_local LastError last;
constinit std::atomic<unsigned> epoch{0};

struct Text {
  const char* name;
  const char* text;
};

// A switch without default: the compiler warns about an enumerator that error_texts.inc does not have.
Text text_of(cudaError_t error) {
  switch (error) {
#define SOFTGPU_ERROR(code, text) \
  case code:                      \
    return {#code, text};
#include "softgpu/runtime/error_texts.inc"
#undef SOFTGPU_ERROR
  }
  return {nullptr, nullptr};
}

}  // namespace

cudaError_t to_runtime(CUresult result) {
  auto const same = static_cast<cudaError_t>(result);
  return text_of(same).name != nullptr ? same : cudaErrorUnknown;
}

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess) last = {error, epoch.load(std::memory_order_relaxed)};
  return error;
}

bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice: return true;
    default: return false;
  }
}

void forget_sticky_errors() {
  epoch.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

// The generated stubs answer with this.
extern "C" int softgpu_runtime_not_supported(const char* name) {
  tidemark::say_once(name, "softgpu", std::string(name) + " is not supported");
  return record(cudaErrorNotSupported);
}

cudaError_t cudaGetLastError() {
  cudaError_t const error = last.error;
  bool const stays = is_sticky(error) && last.epoch == epoch.load(std::memory_order_relaxed);
  if (!stays) last.error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return last.error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* const name = text_of(error).name;
  return name != nullptr ? name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* const text = text_of(error).text;
  return text != nullptr ? text : "unrecognized error code";
}
