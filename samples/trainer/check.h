// SPDX-License-Identifier: Apache-2.0
// Every call of CUDA is checked: the trainer stops with the place and the error's name.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace tidemark::trainer {

void check(cudaError_t error, const char* call, const char* file, int line);
void check(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace tidemark::trainer

#define TRAINER_CHECK(...) ::tidemark::trainer::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
