// SPDX-License-Identifier: Apache-2.0
// A client in the vendor's sample pattern: buffers are flushed by an exit handler. Everything is opened at run time,
// CUPTI before the runtime, so that a runtime that comes late has to find the observer by itself. Prints what it saw.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

void* cupti = nullptr;
int calls = 0, allocations = 0, devices = 0;

template <class F>
F find(void* library, const char* name) {
  auto const found = reinterpret_cast<F>(dlsym(library, name));
  if (found == nullptr) {
    std::printf("no %s: %s\n", name, dlerror());
    std::exit(1);
  }
  return found;
}

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 16 << 10;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  auto const next = find<decltype(&cuptiActivityGetNextRecord)>(cupti, "cuptiActivityGetNextRecord");
  for (CUpti_Activity* record = nullptr; next(buffer, valid, &record) == CUPTI_SUCCESS;) {
    calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    allocations += record->kind == CUPTI_ACTIVITY_KIND_MEMORY2;
    devices += record->kind == CUPTI_ACTIVITY_KIND_DEVICE;
  }
  std::free(buffer);
}

void at_exit() {
  find<decltype(&cuptiActivityFlushAll)>(cupti, "cuptiActivityFlushAll")(1);
  std::printf("calls=%d memory=%d devices=%d\n", calls, allocations, devices);
  std::fflush(stdout);
}

}  // namespace

int main() {
  cupti = dlopen("libcupti.so.13", RTLD_NOW);
  if (cupti == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  // The sample's order: kinds first, functions later.
  auto const enable = find<decltype(&cuptiActivityEnable)>(cupti, "cuptiActivityEnable");
  for (CUpti_ActivityKind const kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MEMORY2})
    if (enable(kind) != CUPTI_SUCCESS) return 1;
  auto const set = find<decltype(&cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks");
  if (set(request, complete) != CUPTI_SUCCESS) return 1;
  std::atexit(at_exit);
  void* const runtime = dlopen("libcudart.so.13", RTLD_NOW);
  auto const allocate = find<cudaError_t (*)(void**, std::size_t)>(runtime, "cudaMalloc");
  auto const release = find<cudaError_t (*)(void*)>(runtime, "cudaFree");
  for (int i = 0; i < 3; ++i) {
    void* block = nullptr;
    if (allocate(&block, 1000) != cudaSuccess || release(block) != cudaSuccess) return 1;
  }
  return 0;
}
