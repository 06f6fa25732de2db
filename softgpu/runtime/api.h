// SPDX-License-Identifier: Apache-2.0
// The vendor's public headers as every file of this library reads them. The internal definition makes them declare
// plain names and per-thread twins side by side without macros that rename one into the other. Entry points take their
// visibility from the declaration, so that a definition needs no decoration of its own.
#pragma once
#pragma GCC visibility push(default)
#define __CUDA_API_VERSION_INTERNAL
// Deprecated names are part of the library all the same.
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
