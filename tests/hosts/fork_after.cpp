// SPDX-License-Identifier: Apache-2.0
// Forks after its first CUDA call. CUDA does not survive that, but the child may try, mark, and come to a normal end:
// nothing of it may reach the parent's trace.
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/hosts/host.h"

namespace {

void child(const char* name, void* parents_block) {
  void* block = nullptr;
  cudaError_t const allocated = cudaMalloc(&block, 12345);
  cudaError_t const freed = cudaFree(parents_block);
  tidemark_push(TIDEMARK_LAYER, "child");
  tidemark_step(77);
  tidemark_tag(parents_block, TIDEMARK_GRADIENT, "stolen");
  tidemark_pop(TIDEMARK_LAYER);
  std::printf("%s: %s, %s\n", name, cudaGetErrorName(allocated), cudaGetErrorName(freed));
}

}  // namespace

int main() {
  host::work();
  void* const block = host::account.allocate(1 << 20);
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    child("fork", block);
    std::exit(5);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
  // Without the C library, and so without its handlers.
  pid = static_cast<pid_t>(syscall(SYS_fork));
  if (pid == 0) {
    child("bare fork", block);
    std::fflush(stdout);
    _exit(6);
  }
  REQUIRE(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 6);
  host::work();
  host::account.free(block, 1 << 20);
  host::account.write();
  return 7;
}
