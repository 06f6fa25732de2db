// SPDX-License-Identifier: Apache-2.0
// What nvcc's host code registers: images (fat binaries) with their kernels and variables. Nothing is loaded at
// registration, which runs before main(); an image is given to the driver at the first use of anything in it, as a
// CUlibrary. Libraries belong to no context, so that they survive cudaDeviceReset() and need not be registered again.
// Threads: registration and look-up may happen on any thread. The registry outlives exit handlers, where images go.
#pragma once
#include <cstddef>

#include "softgpu/runtime/context.h"

namespace tidemark::softgpu::runtime {

// A kernel or a function of the driver's, whichever a program's `const void* func` turned out to be.
struct Callable {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  // The driver takes a kernel wherever it takes a function; it then means the function in the current context.
  CUfunction launchable() const { return function != nullptr ? function : reinterpret_cast<CUfunction>(kernel); }
};

// func: the address of a host stub, or a cudaKernel_t or cudaFunction_t that this runtime gave out.
// cudaErrorInvalidDeviceFunction for anything else.
cudaError_t find_callable(const void* func, Callable& out);
// The name under which a program registered the kernel of this host stub, or null. Loads nothing.
const char* kernel_name(const void* func);
// The host stub that stands for a kernel, or the kernel's own handle when there is none.
void* symbol_of(CUkernel kernel);
// Remembers a handle that goes out to the program, which may pass it back as `func`.
void remember(CUkernel kernel);
void remember(CUfunction function);

struct Variable {
  void* address = nullptr;
  std::size_t bytes = 0;
};
// cudaErrorInvalidSymbol when the program registered no such variable.
cudaError_t find_variable(const void* symbol, Variable& out);

}  // namespace tidemark::softgpu::runtime
