// SPDX-License-Identifier: Apache-2.0
#include <string>
#include "base/log.h"
#include "softgpu/blas/device.h"
extern "C" int softgpu_blaslt_not_supported(const char* name) {
  tidemark::say_once(name, "softgpu cuBLASLt", std::string(name) + ": not supported by softgpu");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
