// SPDX-License-Identifier: Apache-2.0
// Control leaves a CUDA call by other ways than a return: an exception that is thrown inside it, a jump, the end of the
// thread. The software device's observer, which is called on the caller's thread, gives the opportunity. Managed memory
// is the driver's own whoever serves the rest.
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>

#include <stdexcept>
#include <string_view>

#include "softgpu/interface/observe.h"
#include "tests/hosts/host.h"

namespace {

std::string_view how;
const char* where = nullptr;  // the function that is left; null: none
jmp_buf back;

void enter(SoftgpuCall* call) {
  if (where == nullptr || std::strcmp(call->name, where) != 0) return;
  where = nullptr;
  if (how == "throw") throw std::runtime_error("out of the call");
  if (how == "jump") longjmp(back, 1);
  if (how == "end") pthread_exit(nullptr);
}
void leave(SoftgpuCall*) {}
std::uint64_t tag() {
  return 0;
}
constexpr SoftgpuObserver kObserver{.enter = enter,
                                    .exit = leave,
                                    .tag = tag,
                                    .memory = [](const SoftgpuMemoryEvent*) {},
                                    .pool = [](const SoftgpuPoolEvent*) {},
                                    .work = [](const SoftgpuWorkEvent*) {},
                                    .created = [](const SoftgpuResourceEvent*) {},
                                    .destroying = [](const SoftgpuResourceEvent*) {}};

void* allocate_and_leave(void*) {
  void* block = nullptr;
  if (how == "throw") {
    try {
      cudaMallocManaged(&block, 50'000);
    } catch (const std::runtime_error& error) {
      std::printf("caught: %s\n", error.what());
    }
  } else if (setjmp(back) == 0) {
    cudaMallocManaged(&block, 50'000);
  } else {
    std::puts("jumped");
  }
  return nullptr;
}

void* free_and_leave(void* block) {
  if (how == "throw") {
    try {
      cudaFree(block);
    } catch (const std::runtime_error& error) {
      std::printf("caught: %s\n", error.what());
    }
  } else if (setjmp(back) == 0) {
    cudaFree(block);
  } else {
    std::puts("jumped");
  }
  return nullptr;
}

void run(void* (*body)(void*), void* argument, const char* function) {
  where = function;
  pthread_t thread;
  pthread_create(&thread, nullptr, body, argument);
  pthread_join(thread, nullptr);
  REQUIRE(where == nullptr);
}

}  // namespace

int main(int, char** argv) {
  how = argv[1];
  host::work();
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto const observe = reinterpret_cast<decltype(&softgpu_observe)>(dlsym(library, "softgpu_observe"));
  REQUIRE(observe != nullptr);
  observe(&kObserver);
  run(allocate_and_leave, nullptr, "cuMemAllocManaged");
  void* block = nullptr;
  CHECK(cudaMallocManaged(&block, 60'000));
  host::account.add(60'000);
  run(free_and_leave, block, "cuMemFree_v2");
  // It was not freed, so it can be.
  if (how != "jump") host::account.free(block, 60'000);
  host::work();
  host::account.write();
  std::puts("done");
  return 0;
}
