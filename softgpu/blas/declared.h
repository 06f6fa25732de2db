// SPDX-License-Identifier: Apache-2.0
// Everything that libcublas.so.13 declares in public, for the generator of stubs and the export list; never compiled.
#pragma once
#include <cublas.h>
// cublasXt.h asks for cublas_v2.h, which only renames, and which refuses to stand beside the legacy header.
#define CUBLAS_V2_H_
#include <cublasXt.h>
