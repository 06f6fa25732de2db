// SPDX-License-Identifier: Apache-2.0
// The driver's own functions, by the names that libcuda exports.
//
// Filled once, then constant: any thread may read it. It outlives every exit handler.
#pragma once
#include <cstddef>

#include "interpose/real/cuda.h"

namespace tidemark::interpose {

struct Driver {
#define TIDEMARK_REAL(symbol) decltype(&::symbol) symbol = nullptr;
#define TIDEMARK_REAL_TWIN(symbol, twin) decltype(&::symbol) symbol = nullptr, twin = nullptr;
#include "interpose/real/driver_functions.inc"
#undef TIDEMARK_REAL
#undef TIDEMARK_REAL_TWIN
};

// All null while there is no driver.
const Driver& driver();
bool has_driver();

// A function of the driver beyond the table (softgpu's own exports); null when it has none.
void* driver_symbol(const char* name);
// For a function that the table does not have, by its place there: what a framework exports in the driver's stead
// while it has not opened it. Null when nobody does.
void* driver_stub(std::size_t place);

template <class... P, class... A>
CUresult call(CUresult (*Driver::*function)(P...), A... arguments) {
  const Driver& table = driver();
  auto address = table.*function;
  if (address == nullptr) {
    auto const offset = reinterpret_cast<const char*>(&(table.*function)) - reinterpret_cast<const char*>(&table);
    address = reinterpret_cast<decltype(address)>(driver_stub(static_cast<std::size_t>(offset) / sizeof(void*)));
  }
  return address == nullptr ? CUDA_ERROR_NOT_SUPPORTED : address(arguments...);
}

}  // namespace tidemark::interpose
