/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C without kernels: memory, copies, events. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    cudaError_t const error_ = (call);                                                        \
    if (error_ != cudaSuccess) {                                                              \
      fprintf(stderr, "plain_c.c:%d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error_)); \
      return 1;                                                                               \
    }                                                                                         \
  } while (0)

int main(void) {
  char text[] = "from host to device and back", back[sizeof text] = "";
  void* memory = NULL;
  cudaEvent_t begin, end;
  float milliseconds = 0;
  CHECK(cudaMalloc(&memory, sizeof text));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin, 0));
  CHECK(cudaMemcpy(memory, text, sizeof text, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(back, memory, sizeof text, cudaMemcpyDeviceToHost));
  CHECK(cudaEventRecord(end, 0));
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFree(memory));
  printf("%s\n", back);
  return strcmp(text, back) != 0;
}
