// SPDX-License-Identifier: Apache-2.0
// usage: relief
// Nearly all of the card is kept by the cache; then others ask the driver for memory, one after the other. Prints who
// got it, and whether what cudaMemGetInfo had said was true.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>

#include "tests/integration/programs/check.h"

namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

// The driver gives whole granules.
std::size_t whole(std::size_t bytes) {
  return bytes / (2 * kMiB) * (2 * kMiB);
}

// Takes all but a little and frees it again: the cache keeps it.
std::size_t fill_cache() {
  std::size_t const free = free_bytes();
  void* block = nullptr;
  CHECK(cudaMalloc(&block, free - 8 * kMiB));
  CHECK(cudaFree(block));
  return free;
}

CUmemAllocationProp on_device() {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  return p;
}

bool physical(std::size_t bytes) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp const p = on_device();
  if (cuMemCreate(&handle, bytes, &p, 0) != CUDA_SUCCESS) return false;
  REQUIRE(cuMemRelease(handle) == CUDA_SUCCESS);
  return true;
}

bool pool(std::size_t bytes) {
  cudaMemPool_t made = nullptr;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  CHECK(cudaMemPoolCreate(&made, &properties));
  void* block = nullptr;
  bool const got = cudaMallocFromPoolAsync(&block, bytes, made, nullptr) == cudaSuccess;
  if (got) CHECK(cudaFreeAsync(block, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  CHECK(cudaMemPoolDestroy(made));
  return got;
}

bool array(std::size_t bytes) {
  cudaArray_t made = nullptr;
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float4>();
  std::size_t const width = 16384, height = bytes / width / sizeof(float4);
  if (cudaMallocArray(&made, &format, width, height) != cudaSuccess) return false;
  CHECK(cudaFreeArray(made));
  return true;
}

bool graph(std::size_t bytes) {
  cudaGraph_t made = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t allocation = nullptr, release = nullptr;
  CHECK(cudaGraphCreate(&made, 0));
  cudaMemAllocNodeParams parameters{};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  parameters.bytesize = bytes;
  CHECK(cudaGraphAddMemAllocNode(&allocation, made, nullptr, 0, &parameters));
  CHECK(cudaGraphAddMemFreeNode(&release, made, &allocation, 1, parameters.dptr));
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  bool const got = cudaGraphLaunch(exec, nullptr) == cudaSuccess;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(made));
  CHECK(cudaDeviceGraphMemTrim(0));
  return got;
}

// A context takes memory of its own, without saying how much.
bool context(std::size_t) {
  CUcontext made = nullptr, before = nullptr;
  REQUIRE(cuCtxGetCurrent(&before) == CUDA_SUCCESS);
  CUctxCreateParams parameters{};
  if (cuCtxCreate(&made, &parameters, 0, 0) != CUDA_SUCCESS) return false;
  REQUIRE(cuCtxDestroy(made) == CUDA_SUCCESS);
  REQUIRE(cuCtxSetCurrent(before) == CUDA_SUCCESS);
  return true;
}

bool ours(std::size_t bytes) {
  void* block = nullptr;
  if (cudaMalloc(&block, bytes) != cudaSuccess) return false;
  CHECK(cudaFree(block));
  return true;
}

void say(const char* who, bool (*take)(std::size_t), std::size_t bytes) {
  std::size_t const said = fill_cache();
  bool const still = free_bytes() == said;
  std::printf("%s: %s, %s\n", who, take(bytes == 0 ? whole(said) : bytes) ? "got it" : "refused",
              still ? "what is kept counts as free" : "less is free than before");
  cudaGetLastError();
}

}  // namespace

int main() {
  std::size_t const most = whole(free_bytes() / 2);
  say("physical memory", physical, most);
  say("a pool", pool, most);
  say("an array", array, most / 16);
  say("a graph", graph, most);
  say("a context", context, most);
  say("all that was said to be free, to somebody else", physical, 0);
  say("all that was said to be free, to the program", ours, 0);
  return 0;
}
