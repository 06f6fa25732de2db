// SPDX-License-Identifier: Apache-2.0
// usage: options_program round|cap|idle|poison|whole|empty|late-copy|late-kernel|ordered|none
// What a served program can see of the options that it is served with. Prints one line of its own.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <tidemark/tidemark.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/integration/options/bodies.h"
#include "tests/integration/programs/check.h"

namespace {

constexpr std::size_t kMiB = 1 << 20;

void* allocate(std::size_t bytes) {
  void* block = nullptr;
  CHECK(cudaMalloc(&block, bytes));
  return block;
}

// What the device itself says is taken: NVML counts what is cached, whoever keeps it.
class Device {
 public:
  Device() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    REQUIRE(library_ != nullptr);
    REQUIRE(function<int()>("nvmlInit_v2")() == 0);
    REQUIRE(function<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2")(0, &device_) == 0);
  }
  unsigned long long used_bytes() const {
    struct {
      unsigned long long total, free, used;
    } memory{};
    REQUIRE(function<int(void*, void*)>("nvmlDeviceGetMemoryInfo")(device_, &memory) == 0);
    return memory.used;
  }

 private:
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }
  void* library_;
  void* device_ = nullptr;
};

int round_sizes() {
  for (std::size_t const bytes : {1000, 70000, 3 << 20}) allocate(bytes);
  std::printf("allocated\n");
  return 0;
}

int cap() {
  Device const device;
  cudaFree(nullptr);
  unsigned long long const before = device.used_bytes();
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(64 * kMiB));
  for (void* const block : blocks) CHECK(cudaFree(block));
  std::printf("kept %llu MiB\n", (device.used_bytes() - before) / kMiB);
  return 0;
}

int idle() {
  Device const device;
  cudaFree(nullptr);
  unsigned long long const before = device.used_bytes();
  CHECK(cudaFree(allocate(512 * kMiB)));
  timespec const pause{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; device.used_bytes() > before + 2 * kMiB; ++i) {
    if (i == 60'000) {
      std::printf("kept for a minute\n");
      return 1;
    }
    nanosleep(&pause, nullptr);
  }
  void* const again = allocate(512 * kMiB);
  std::printf("given back, and taken again\n");
  return cudaFree(again);
}

// Reads of a block whose owner forgot to write to it: what the one before has left.
int poison() {
  constexpr std::size_t kBytes = 1 << 16;
  cudaStream_t stream = nullptr, other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  std::vector<std::uint32_t> seen(kBytes / 4);
  auto const all = [&] {
    for (std::uint32_t const word : seen)
      if (word != seen[0]) return 0u;
    return seen[0];
  };
  std::uint32_t words[3] = {};
  for (int round = 0; round < 3; ++round) {
    void* block = nullptr;
    CHECK(round == 1 ? cudaMallocAsync(&block, kBytes, stream) : cudaMalloc(&block, kBytes));
    CHECK(cudaMemsetAsync(block, 0x11, kBytes, stream));
    if (round == 2) CHECK(cudaMemsetAsync(block, 0x11, kBytes, other));
    CHECK(round == 1 ? cudaFreeAsync(block, stream) : cudaFree(block));
    void* next = nullptr;
    CHECK(round == 1 ? cudaMallocAsync(&next, kBytes, stream) : cudaMalloc(&next, kBytes));
    CHECK(cudaMemcpyAsync(seen.data(), next, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSynchronize());
    words[round] = next == block ? all() : 1;
    CHECK(round == 1 ? cudaFreeAsync(next, stream) : cudaFree(next));
  }
  float number = 0;
  std::memcpy(&number, &words[0], sizeof number);
  std::printf("%08x %08x, %s\n", words[0], words[1], number != number ? "not a number" : "a number");
  return 0;
}

// Each block is a whole one to the driver: its range is known, and its neighbour is not within reach of a copy.
int whole() {
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(reinterpret_cast<CUdeviceptr>(allocate(1000)));
  for (CUdeviceptr const block : blocks) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    REQUIRE(cuMemGetAddressRange(&base, &bytes, block + 10) == CUDA_SUCCESS);
    REQUIRE(base == block && bytes == 1000);
  }
  std::printf("whole\n");
  return 0;
}

// A block of one stream that another one uses; then it is freed in the first one's order.
struct TwoStreams {
  TwoStreams() {
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMemsetAsync(allocate(512), 0, 512, own));  // before the block: both have been used
    CHECK(cudaMemsetAsync(allocate(512), 0, 512, other));
  }
  void* begin() {
    void* block = nullptr;
    tidemark_push(TIDEMARK_LAYER, "maker");
    CHECK(cudaMallocAsync(&block, 3 * kMiB, own));
    tidemark_pop(TIDEMARK_LAYER);
    CHECK(cudaEventRecord(event, own));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    return block;
  }
  void end(void* block, const char* where = "releaser") {
    tidemark_push(TIDEMARK_LAYER, where);
    CHECK(cudaFreeAsync(block, own));
    tidemark_pop(TIDEMARK_LAYER);
  }
  cudaStream_t own = nullptr, other = nullptr;
  cudaEvent_t event = nullptr;
};

int late(void (*use)(void* block, cudaStream_t stream)) {
  TwoStreams streams;
  void* const block = streams.begin();
  tidemark_push(TIDEMARK_LAYER, "user");
  use(block, streams.other);
  tidemark_pop(TIDEMARK_LAYER);
  streams.end(block);
  CHECK(cudaDeviceSynchronize());
  std::printf("freed\n");
  return 0;
}
int late_copy() {
  return late([](void* block, cudaStream_t stream) {
    static char host[4096];
    CHECK(cudaMemcpyAsync(static_cast<char*>(block) + 8192, host, sizeof host, cudaMemcpyHostToDevice, stream));
  });
}
int late_kernel() {
  return late([](void* block, cudaStream_t stream) {
    used::touch<<<1, 1, 0, stream>>>({.count = 1, .data = static_cast<int*>(block) + 100});
    CHECK(cudaGetLastError());
  });
}

// Every way to put the use before the free, and a free that waits by itself.
int ordered() {
  constexpr const char* kWays[] = {"event", "stream waited for", "event waited for", "device", "host function", "free"};
  TwoStreams streams;
  for (int way = 0; way < 6; ++way) {
    void* const block = streams.begin();
    CHECK(cudaMemsetAsync(block, 1, 4096, streams.other));
    cudaEvent_t done = nullptr;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaEventRecord(done, streams.other));
    if (way == 0) CHECK(cudaStreamWaitEvent(streams.own, done, 0));
    if (way == 1) CHECK(cudaStreamSynchronize(streams.other));
    if (way == 2) CHECK(cudaEventSynchronize(done));
    if (way == 3) CHECK(cudaDeviceSynchronize());
    if (way == 4)
      CHECK(cudaLaunchHostFunc(
          streams.other, [](void*) {}, nullptr));
    if (way == 5)
      CHECK(cudaFree(block));
    else
      streams.end(block, kWays[way]);
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("freed\n");
  return 0;
}

int empty() {
  Device const device;
  cudaFree(nullptr);
  unsigned long long const before = device.used_bytes();
  CHECK(cudaFree(allocate(256 * kMiB)));
  unsigned long long const kept = device.used_bytes() - before;
  tidemark_empty_cache();
  std::printf("kept %llu MiB, then %llu MiB\n", kept / kMiB, (device.used_bytes() - before) / kMiB);
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  struct Case {
    const char* name;
    int (*run)();
  };
  for (Case const& c :
       {Case{"round", round_sizes}, Case{"cap", cap}, Case{"idle", idle}, Case{"poison", poison}, Case{"whole", whole},
        Case{"empty", empty}, Case{"late-copy", late_copy}, Case{"late-kernel", late_kernel}, Case{"ordered", ordered}})
    if (std::strcmp(arguments[1], c.name) == 0) return c.run();
  allocate(kMiB);
  std::printf("ran\n");
  return 0;
}
