// SPDX-License-Identifier: Apache-2.0
// A range inside a variable of device code, for the copies that name one.
#pragma once
#include "softgpu/runtime/module.h"

namespace tidemark::softgpu::runtime {

struct SymbolRange {
  const void* symbol;
  std::size_t offset;
  std::size_t bytes;
};
// The address of the range; cudaErrorInvalidValue when it is not inside the variable.
cudaError_t locate(const SymbolRange& range, void*& address);

}  // namespace tidemark::softgpu::runtime
