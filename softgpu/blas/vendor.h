// SPDX-License-Identifier: Apache-2.0
// The vendor's public headers, whose declarations are made visible: what this library defines of them is exported.
#pragma once
#pragma GCC visibility push(default)
#include <cublas_v2.h>

#include <cublasLt.h>
#pragma GCC visibility pop
