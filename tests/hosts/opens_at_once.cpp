// SPDX-License-Identifier: Apache-2.0
// One thread makes the process's first CUDA call while another opens a library that makes one in its constructor. The
// one that opens holds the linker's lock: whoever waits for it there must hold nothing that the constructor needs.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "tests/hosts/host.h"

namespace {

#define DRIVER(...) REQUIRE((__VA_ARGS__) == CUDA_SUCCESS)

void wait(int turns) {
  for (std::atomic<int> i{0}; i < turns;) ++i;
}

void child(const char* plugin, int delay) {
  alarm(20);
  DRIVER(cuInit(0));
  std::atomic<int> ready{0};
  std::thread opening([&] {
    for (++ready; ready < 2;) {
    }
    wait(delay);
    REQUIRE(dlopen(plugin, RTLD_NOW) != nullptr);
  });
  for (++ready; ready < 2;) {
  }
  std::size_t bytes = 0;
  DRIVER(cuDeviceTotalMem(&bytes, 0));
  opening.join();
  _exit(0);
}

}  // namespace

int main(int, char** argv) {
  int well = 0;
  for (int i = 0; i < 100; ++i) {
    pid_t const pid = fork();
    if (pid == 0) child(argv[1], i * 400);
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    if (status != 0) break;
    ++well;
  }
  std::printf("%d went well\n", well);
  return 0;
}
