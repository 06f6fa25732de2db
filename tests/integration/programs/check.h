// SPDX-License-Identifier: Apache-2.0
// What these programs share: a failing CUDA call ends the program and is named. Values are another matter: a dry run
// skips kernels, so what they would compute is compared only when the program is called with the word "values".
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

inline void check_call(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorName(error));
  std::exit(1);
}
#define CHECK(...) check_call((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline void check_true(bool held, const char* what, const char* file, int line) {
  if (held) return;
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  std::exit(1);
}
#define REQUIRE(...) check_true((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline bool values_count(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "values") == 0;
}
