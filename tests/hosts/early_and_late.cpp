// SPDX-License-Identifier: Apache-2.0
// CUDA before main, and after its end: in constructors, in destructors of static and thread-local objects and of keys
// of the thread library, in exit handlers. The account is written by the very last of them.
#include <pthread.h>

#include <thread>

#include "tests/hosts/host.h"

namespace {

void* early_block = nullptr;

__attribute__((constructor(101))) void before_everything() {
  early_block = host::account.allocate(11'000);
}
// After all exit handlers and static destructors. The driver may refuse by then: what it says is part of the output.
__attribute__((destructor(101))) void after_everything() {
  cudaError_t const error = cudaFree(early_block);
  if (error == cudaSuccess) host::account.remove(11'000);
  void* block = nullptr;
  cudaError_t const again = cudaMalloc(&block, 12'000);
  if (again == cudaSuccess) host::account.add(12'000);
  host::account.write();
  std::printf("at the very end: %s, %s\n", cudaGetErrorName(error), cudaGetErrorName(again));
  std::fflush(stdout);
}

struct Holder {
  explicit Holder(std::size_t size_bytes) : bytes(size_bytes), block(host::account.allocate(size_bytes)) {}
  ~Holder() {
    if (cudaFree(block) == cudaSuccess) host::account.remove(bytes);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  std::size_t bytes;
  void* block;
};

Holder global(21'000);
thread_local Holder per_thread(22'000);

void in_key(void* value) {
  host::account.free(value, 23'000);
  host::account.free(host::account.allocate(24'000), 24'000);
}

void at_exit() {
  host::account.free(host::account.allocate(25'000), 25'000);
}

}  // namespace

int main() {
  std::atexit(at_exit);
  pthread_key_t first, second;
  pthread_key_create(&first, in_key);
  host::account.free(host::account.allocate(1), 1);
  pthread_key_create(&second, in_key);
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      pthread_setspecific(first, host::account.allocate(23'000));
      (void)per_thread.block;
      pthread_setspecific(second, host::account.allocate(23'000));
    }).join();
  (void)per_thread.block;
  std::puts("main ends");
  return 15;
}
