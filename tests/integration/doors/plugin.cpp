// SPDX-License-Identifier: Apache-2.0
// A plugin that is linked to both of CUDA's libraries.
#include <cuda.h>
#include <cuda_runtime_api.h>

extern "C" unsigned long long plugin_take(size_t bytes, int by_driver) {
  void* block = nullptr;
  CUdeviceptr address = 0;
  if (cudaFree(nullptr) != cudaSuccess) return 0;
  if (by_driver != 0) return cuMemAlloc(&address, bytes) == CUDA_SUCCESS ? address : 0;
  return cudaMalloc(&block, bytes) == cudaSuccess ? reinterpret_cast<unsigned long long>(block) : 0;
}
extern "C" int plugin_give_back(unsigned long long block, int by_driver) {
  return by_driver != 0 ? static_cast<int>(cuMemFree(block))
                        : static_cast<int>(cudaFree(reinterpret_cast<void*>(block)));
}
