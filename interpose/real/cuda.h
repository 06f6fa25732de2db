// SPDX-License-Identifier: Apache-2.0
// CUDA's driver header with every exported symbol under its own name: without this definition cuMemAlloc is a macro for
// cuMemAlloc_v2, and the older ABIs are not declared at all. The build gives it to all files here; others that include
// one of ours get it from this line.
#pragma once
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL
#else
#include <cuda.h>
#endif
