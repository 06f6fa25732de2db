// SPDX-License-Identifier: Apache-2.0
// usage: oom_scenarios shortage|fragmentation|pinned|too-large|odd-names|storm
// Ways to run out of memory, each with the marks of a training program.
#include <cuda_runtime.h>
#include <tidemark/tidemark.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return free;
}

int say(const char* call, cudaError_t result) {
  std::printf("%s: %s\n", call, cudaGetErrorName(result));
  return result == cudaErrorMemoryAllocation ? 0 : 1;
}

// The card fills up with activations, layer by layer.
int shortage() {
  tidemark_step(7);
  tidemark_push(TIDEMARK_PHASE, "forward");
  for (int layer = 0;; ++layer) {
    char name[32];
    std::snprintf(name, sizeof name, "encoder.%d", layer % 4);
    tidemark_push(TIDEMARK_LAYER, name);
    void* block = nullptr;
    cudaError_t const result = cudaMalloc(&block, 100 * kMiB);
    if (result != cudaSuccess) return say("cudaMalloc", result);
    tidemark_tag(block, TIDEMARK_ACTIVATION, "output");
    tidemark_pop(TIDEMARK_LAYER);
  }
}

// A pool keeps what it has; every second block of it is free, and none of the holes is large enough.
int fragmentation() {
  cudaMemPool_t pool = nullptr;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  unsigned long long keep = ~0ull;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
  std::vector<void*> blocks;
  while (free_bytes() >= 64 * kMiB) {
    void* block = nullptr;
    if (cudaMallocAsync(&block, 16 * kMiB, nullptr) != cudaSuccess) break;
    blocks.push_back(block);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) cudaFreeAsync(blocks[i], nullptr);
  cudaStreamSynchronize(nullptr);
  void* block = nullptr;
  return say("cudaMalloc", cudaMalloc(&block, 100 * kMiB));
}

// Blocks of three quarters of a page; every second one goes, and no page is free.
int pinned() {
  constexpr std::size_t kBytes = 3 * kMiB / 2;
  tidemark_push(TIDEMARK_LAYER, "pinning");
  std::vector<void*> blocks;
  for (void* block = nullptr; cudaMalloc(&block, kBytes) == cudaSuccess;) blocks.push_back(block);
  cudaGetLastError();
  for (std::size_t i = 0; i < blocks.size(); i += 2) cudaFree(blocks[i]);
  tidemark_pop(TIDEMARK_LAYER);
  tidemark_push(TIDEMARK_LAYER, "wanting");
  const timespec second{.tv_sec = 1, .tv_nsec = 100'000'000};
  nanosleep(&second, nullptr);  // one page is said per second
  void* block = nullptr;
  return say("cudaMalloc", cudaMalloc(&block, 100 * kMiB));
}

int too_large() {
  void* block = nullptr;
  return say("cudaMalloc", cudaMalloc(&block, std::size_t{1} << 40));
}

// Layers that are called anything.
int odd_names() {
  tidemark_push(TIDEMARK_LAYER, "red\033[31m\a");
  void* block = nullptr;
  cudaMalloc(&block, kMiB);
  tidemark_pop(TIDEMARK_LAYER);
  tidemark_push(TIDEMARK_LAYER,
                "a.name.that.is.longer.than.a.line.of.a.terminal.has.room.for.and.goes.on.and.on.until.it.ends");
  cudaMalloc(&block, kMiB);
  return say("cudaMalloc", cudaMalloc(&block, std::size_t{1} << 40));
}

// A program that tries again at once: ten thousand failures.
int storm() {
  void* block = nullptr;
  cudaError_t result = cudaSuccess;
  for (int i = 0; i < 10000; ++i) result = cudaMalloc(&block, std::size_t{1} << 40);
  return say("cudaMalloc", result);
}

}  // namespace

int main(int, char** arguments) {
  const char* const what = arguments[1];
  if (std::strcmp(what, "shortage") == 0) return shortage();
  if (std::strcmp(what, "fragmentation") == 0) return fragmentation();
  if (std::strcmp(what, "pinned") == 0) return pinned();
  if (std::strcmp(what, "too-large") == 0) return too_large();
  if (std::strcmp(what, "odd-names") == 0) return odd_names();
  return storm();
}
