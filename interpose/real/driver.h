// SPDX-License-Identifier: Apache-2.0
// The driver's own functions, by the names that libcuda exports. Taken from libcuda's handle and never by global search
// order: frameworks export forwarding stubs under the same names, which would come back to us.
//
// Filled once, then constant: any thread may read it. It outlives every exit handler.
#pragma once
#include "interpose/real/cuda.h"

namespace tidemark::interpose {

struct Driver {
#define TIDEMARK_REAL(symbol) decltype(&::symbol) symbol = nullptr;
#define TIDEMARK_REAL_TWIN(symbol, twin) decltype(&::symbol) symbol = nullptr, twin = nullptr;
#include "interpose/real/driver_functions.inc"
#undef TIDEMARK_REAL
#undef TIDEMARK_REAL_TWIN
};

// Null while no libcuda is in the process. It is never opened for the program's sake: looking for the driver must not
// change what the program finds.
void* driver_handle();
// All null while there is no driver.
const Driver& driver();
bool has_driver();

// A function of the driver beyond the table (softgpu's own exports); null when it has none.
void* driver_symbol(const char* name);

template <class... P, class... A>
CUresult call(CUresult (*Driver::*function)(P...), A... arguments) {
  auto const address = driver().*function;
  return address == nullptr ? CUDA_ERROR_NOT_SUPPORTED : address(arguments...);
}

}  // namespace tidemark::interpose
