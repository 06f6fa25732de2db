// SPDX-License-Identifier: Apache-2.0
// A library that calls the driver while it is being opened, when the linker lets nobody else in.
#include <cuda.h>

#include "tests/hosts/host.h"

namespace {

__attribute__((constructor)) void opened() {
  std::size_t bytes = 0;
  REQUIRE(cuDeviceTotalMem(&bytes, 0) == CUDA_SUCCESS);
}

}  // namespace
