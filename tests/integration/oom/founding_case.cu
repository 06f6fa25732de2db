// SPDX-License-Identifier: Apache-2.0
// usage: founding_case rules|plain
// The error that this project began with: "tried to allocate 44.00 MiB (GPU 0; 10.76 GiB total capacity; 9.46 GiB
// already allocated; 30.94 MiB free; 9.87 GiB reserved in total)". The same tensors are allocated in the same order
// either by the rules of PyTorch's caching allocator for large blocks, over cudaMalloc (`rules`), or one by one by
// cudaMalloc (`plain`): what a program without a cache of its own does. Prints what came of the 44 MiB.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return free;
}

class Memory {
 public:
  virtual ~Memory() = default;
  virtual char* allocate(std::size_t bytes) = 0;  // null: none
  virtual void release(char* block) = 0;
  virtual std::size_t reserved_bytes() const = 0;
};

class Plain final : public Memory {
 public:
  char* allocate(std::size_t bytes) override {
    void* block = nullptr;
    return cudaMalloc(&block, bytes) == cudaSuccess ? static_cast<char*>(block) : nullptr;
  }
  void release(char* block) override { cudaFree(block); }
  std::size_t reserved_bytes() const override { return 0; }
};

// Blocks above 10 MiB: a segment of a multiple of 2 MiB for each that finds none, the best fit is split where more than
// 1 MiB is left, free neighbours of a segment merge; where cudaMalloc fails, segments without a live block go back and
// it is asked once more.
class Rules final : public Memory {
 public:
  char* allocate(std::size_t bytes) override {
    if (char* const block = take(bytes)) return block;
    void* segment = nullptr;
    std::size_t const size = (bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    if (cudaMalloc(&segment, size) != cudaSuccess) {
      cudaGetLastError();
      give_back_idle_segments();
      if (cudaMalloc(&segment, size) != cudaSuccess) return nullptr;
    }
    auto* const base = static_cast<char*>(segment);
    blocks_[base] = {.bytes = size, .segment = base, .free = true};
    reserved_ += size;
    return take(bytes);
  }
  void release(char* block) override {
    auto at = blocks_.find(block);
    at->second.free = true;
    if (auto const next = std::next(at); next != blocks_.end()) merge(at, next);
    if (at != blocks_.begin()) merge(std::prev(at), at);
  }
  std::size_t reserved_bytes() const override { return reserved_; }

 private:
  struct Block {
    std::size_t bytes = 0;
    char* segment = nullptr;
    bool free = false;
  };
  using Blocks = std::map<char*, Block>;

  char* take(std::size_t bytes) {
    auto best = blocks_.end();
    for (auto at = blocks_.begin(); at != blocks_.end(); ++at)
      if (at->second.free && at->second.bytes >= bytes &&
          (best == blocks_.end() || at->second.bytes < best->second.bytes))
        best = at;
    if (best == blocks_.end()) return nullptr;
    best->second.free = false;
    if (std::size_t const rest = best->second.bytes - bytes; rest > kMiB) {
      best->second.bytes = bytes;
      blocks_[best->first + bytes] = {.bytes = rest, .segment = best->second.segment, .free = true};
    }
    return best->first;
  }
  void merge(Blocks::iterator low, Blocks::iterator high) {
    if (!low->second.free || !high->second.free || low->second.segment != high->second.segment) return;
    low->second.bytes += high->second.bytes;
    blocks_.erase(high);
  }
  void give_back_idle_segments() {
    for (auto at = blocks_.begin(); at != blocks_.end();) {
      auto const next = std::next(at);
      bool const whole = at->second.free && at->first == at->second.segment &&
                         (next == blocks_.end() || next->second.segment != at->second.segment);
      if (whole) {
        cudaFree(at->first);
        reserved_ -= at->second.bytes;
        blocks_.erase(at);
      }
      at = next;
    }
  }

  Blocks blocks_;
  std::size_t reserved_ = 0;
};

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}
double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / kMiB;
}

int run(Memory& memory) {
  std::size_t allocated = 0;
  bool failed = false;
  auto const allocate = [&](std::size_t bytes) {
    char* const block = memory.allocate(bytes);
    failed = failed || block == nullptr;
    allocated += bytes;
    return block;
  };
  // Ten times a large temporary makes room in which a tensor that stays and a workspace then stand side by side; when
  // the workspaces go, each hole is pinned by its neighbour.
  std::vector<char*> workspaces;
  for (int i = 0; i < 10; ++i) {
    memory.release(allocate(64 * kMiB));
    allocated -= 64 * kMiB;
    allocate(22 * kMiB);
    workspaces.push_back(allocate(42 * kMiB));
  }
  for (int i = 0; i < 118; ++i) allocate(80 * kMiB);
  allocate(28 * kMiB);
  for (char* const workspace : workspaces) {
    memory.release(workspace);
    allocated -= 42 * kMiB;
  }
  if (failed) {
    std::printf("the tensors themselves do not fit\n");
    return 1;
  }
  std::size_t const reserved = memory.reserved_bytes(), free = free_bytes();
  bool const served = memory.allocate(44 * kMiB) != nullptr;
  std::printf("44.00 MiB: %s; %.2f GiB allocated", served ? "served" : cudaGetErrorName(cudaGetLastError()),
              gib(allocated));
  if (reserved != 0) std::printf(", %.2f GiB reserved, %.2f MiB free", gib(reserved), mib(free));
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  Plain plain;
  Rules rules;
  return std::strcmp(arguments[1], "rules") == 0 ? run(rules) : run(plain);
}
