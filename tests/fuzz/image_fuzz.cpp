// SPDX-License-Identifier: Apache-2.0
// Code images are whatever a program hands to cuModuleLoadData: any bytes give an answer.
#include <cstdint>
#include <cstdlib>

#include "softgpu/model/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto const names = tidemark::softgpu::read_image({reinterpret_cast<const std::byte*>(data), size}, 80);
  // Names are pieces of the input: never more of them than bytes.
  if (names.kernels.size() > size || names.variables.size() > size) std::abort();
  return 0;
}
