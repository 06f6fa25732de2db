// SPDX-License-Identifier: Apache-2.0
// What the host programs share: calls that must succeed, and the program's own account of what it allocated and freed.
// The account goes into the file that HOST_ACCOUNT names, one line per process that is expected to have a trace, in the
// order in which those traces begin. Not to stdout: some hosts close it, and all of them die in their own ways.
#pragma once
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace host {

inline constexpr int kFailed = 99;  // an exit code of no hazard

inline void check_call(cudaError_t error, const char* call, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorName(error));
  _exit(kFailed);
}
#define CHECK(...) host::check_call((__VA_ARGS__), #__VA_ARGS__, __LINE__)

inline void check_true(bool held, const char* what, int line) {
  if (held) return;
  std::fprintf(stderr, "line %d: not so: %s\n", line, what);
  _exit(kFailed);
}
#define REQUIRE(...) host::check_true((__VA_ARGS__), #__VA_ARGS__, __LINE__)

// Any thread.
class Account {
 public:
  void* allocate(std::size_t bytes) {
    void* block = nullptr;
    CHECK(cudaMalloc(&block, bytes));
    add(bytes);
    return block;
  }
  void free(void* block, std::size_t bytes) {
    CHECK(cudaFree(block));
    remove(bytes);
  }
  void add(std::size_t bytes) {
    ++allocations_;
    live_bytes_ += bytes;
  }
  void remove(std::size_t bytes) {
    ++frees_;
    live_bytes_ -= bytes;
  }
  // `lost`: how many events a trace may lack, as long as it counts them.
  void write(std::uint64_t lost = 0) const {
    const char* const path = std::getenv("HOST_ACCOUNT");
    if (path == nullptr) return;
    int const file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return;
    char line[128];
    int const length = std::snprintf(line, sizeof line, "%llu %llu %llu %llu\n", allocations_.load(), frees_.load(),
                                     live_bytes_.load(), static_cast<unsigned long long>(lost));
    if (::write(file, line, static_cast<std::size_t>(length)) != length) _exit(kFailed);
    close(file);
  }

 private:
  std::atomic<unsigned long long> allocations_{0}, frees_{0}, live_bytes_{0};
};

// Constant-initialised and never taken down: hosts allocate before main and after its end.
inline constinit Account account;

// A few blocks, most of them freed again: what a host does where the hazard itself is not about allocating.
inline void work(int blocks = 8) {
  for (int i = 1; i <= blocks; ++i) {
    std::size_t const bytes = static_cast<std::size_t>(i) * 10'000;
    void* const block = account.allocate(bytes);
    if (i % 4 != 0) account.free(block, bytes);
  }
}

}  // namespace host
