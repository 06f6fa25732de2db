// SPDX-License-Identifier: Apache-2.0
// usage: stack_program chain|thread|signal|deep, or stack_program plugins LIBRARY...
// Allocates in known places and says where.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/integration/scope/stack_place.h"

namespace {

std::size_t next_bytes = 1000;

[[gnu::noinline]] void allocate() {
  void* block = nullptr;
  HERE;
  if (cudaMalloc(&block, next_bytes) != cudaSuccess) std::exit(1);
  Place::print(next_bytes);
  next_bytes += 1000;
}

// The compiler may do with these what it likes.
template <class T>
struct Layer {
  T value;
  void forward() {
    HERE;
    allocate();
  }
};

void run_model() {
  for (int step = 0; step < 3; ++step) {
    HERE;
    Layer<int>{1}.forward();
  }
  HERE;
  Layer<double>{1}.forward();
}

[[gnu::noinline]] void deep(int times) {
  if (times > 0) {
    deep(times - 1);
  } else {
    HERE;
    allocate();
  }
  asm volatile("" ::: "memory");
}

void in_handler(int) {
  HERE;
  allocate();
}

void through_plugin(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) std::exit(2);
  auto const layer = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "plugin_layer"));
  HERE;
  layer(allocate);
  dlclose(library);
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const mode = arguments[1];
  if (mode == "chain") {
    HERE;
    run_model();
  }
  if (mode == "thread") std::thread(run_model).join();
  if (mode == "deep") deep(1000);
  if (mode == "signal") {
    signal(SIGUSR1, in_handler);
    HERE;
    raise(SIGUSR1);
  }
  for (int i = 2; i < count; ++i) {
    HERE;
    through_plugin(arguments[i]);
  }
  return 0;
}
