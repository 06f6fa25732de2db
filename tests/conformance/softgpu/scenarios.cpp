// SPDX-License-Identifier: Apache-2.0
// Small programs in one: `conformance_scenarios NAME` does one thing and says on stdout how it went. The tests beside
// this file run them under settings of softgpu's environment. Not GoogleTest: some end badly on purpose.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kWords = 4096, kBytes = kWords * 4;

void stop_at(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorName(error));
  std::exit(1);
}
#define MUST(...) stop_at((__VA_ARGS__), #__VA_ARGS__)
#define MUST_DRIVER(...) stop_at(static_cast<cudaError_t>(__VA_ARGS__), #__VA_ARGS__)

struct Streams {
  cudaStream_t a = nullptr, b = nullptr;
  Streams() {
    MUST(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  }
};

std::uint32_t* pool_block(cudaStream_t stream) {
  std::uint32_t* p = nullptr;
  MUST(cudaMallocAsync(&p, kBytes, stream));
  return p;
}

// ---- the checker ----------------------------------------------------------------------------------------------------

// An allocator above the device finds these by name and works without them.
void note_range(const void* p, std::size_t bytes, std::uint64_t generation) {
  static auto const tell =
      reinterpret_cast<void (*)(const void*, std::size_t, std::uint64_t)>(dlsym(RTLD_DEFAULT, "softgpu_range"));
  if (tell != nullptr) tell(p, bytes, generation);
}

void note_range_async(const void* p, std::size_t bytes, std::uint64_t generation, cudaStream_t stream) {
  static auto const tell = reinterpret_cast<void (*)(const void*, std::size_t, std::uint64_t, void*)>(
      dlsym(RTLD_DEFAULT, "softgpu_range_async"));
  if (tell != nullptr) tell(p, bytes, generation, stream);
}

void free_on_another_stream() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaFreeAsync(p, s.b));  // not ordered behind a
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

void reuse_on_another_stream() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaFreeAsync(p, s.b));
  std::uint32_t* const q = pool_block(s.b);
  MUST(launch_fill(q, kWords, 2, s.b));
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
  std::printf(p == q ? "the same address\n" : "another address\n");
}

void copy_from_freed_memory() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  void *host = nullptr, *device = nullptr;
  MUST(cudaMallocHost(&host, kBytes));
  MUST(cudaMalloc(&device, kBytes));
  MUST(cudaStreamSynchronize(s.a));
  MUST(cudaMemcpyAsync(host, p, kBytes, cudaMemcpyDeviceToHost, s.a));
  MUST(cudaMemcpyAsync(device, p, kBytes, cudaMemcpyDeviceToDevice, s.a));
  MUST(cudaFreeAsync(p, s.b));
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

void plain_free_of_pool_memory_in_use() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaFree(p));  // the caller had to wait for the accesses
  MUST(cudaStreamSynchronize(s.a));
}

void plain_memory_freed_on_another_stream() {
  Streams s;
  std::uint32_t* p = nullptr;
  MUST(cudaMalloc(&p, 4 * kMiB));
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaFreeAsync(p, s.b));
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

void use_before_allocation() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  MUST(launch_fill(p, kWords, 1, s.b));  // not ordered behind the allocation
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

struct Mapping {
  CUdeviceptr p = 0;
  CUmemGenericAllocationHandle handle = 0;
  Mapping() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    MUST(cudaFree(nullptr));
    MUST_DRIVER(cuMemAddressReserve(&p, 2 * kMiB, 0, 0, 0));
    MUST_DRIVER(cuMemCreate(&handle, 2 * kMiB, &prop, 0));
    MUST_DRIVER(cuMemMap(p, 2 * kMiB, 0, handle, 0));
    MUST_DRIVER(cuMemSetAccess(p, 2 * kMiB, &access, 1));
  }
  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(p); }
};

void unmap_in_use() {
  Streams s;
  Mapping m;
  MUST(launch_fill(m.words(), kWords, 1, s.a));
  MUST_DRIVER(cuMemUnmap(m.p, 2 * kMiB));
  std::printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(s.a)));
}

void unmap_copy_in_use() {
  Streams s;
  Mapping m;
  MUST(cudaMemsetAsync(m.words(), 1, kBytes, s.a));
  MUST_DRIVER(cuMemUnmap(m.p, 2 * kMiB));
  std::printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(s.a)));
}

// A block of an allocator above, inside a larger one of the device.
struct Arena {
  std::uint32_t* block = nullptr;
  Arena() {
    void* p = nullptr;
    MUST(cudaMalloc(&p, 8 * kMiB));
    block = static_cast<std::uint32_t*>(p) + kWords;
  }
};

void allocator_frees_in_use() {
  Streams s;
  Arena arena;
  note_range(arena.block, kBytes, 1);
  MUST(launch_fill(arena.block, kWords, 1, s.a));
  note_range(arena.block, kBytes, 0);
  MUST(cudaStreamSynchronize(s.a));
}

void allocator_serves_again_in_use() {
  Streams s;
  Arena arena;
  note_range(arena.block, kBytes, 1);
  MUST(launch_fill(arena.block, kWords, 1, s.a));
  note_range(arena.block, kBytes, 0);
  note_range(arena.block, kBytes, 2);
  MUST(launch_fill(arena.block, kWords, 2, s.b));
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

void allocator_frees_on_another_stream() {
  Streams s;
  Arena arena;
  note_range_async(arena.block, kBytes, 1, s.a);
  MUST(launch_fill(arena.block, kWords, 1, s.a));
  note_range_async(arena.block, kBytes, 0, s.b);
  MUST(cudaStreamSynchronize(s.b));
  MUST(cudaStreamSynchronize(s.a));
}

void queued_after_the_allocators_free() {
  Streams s;
  Arena arena;
  note_range(arena.block, kBytes, 1);
  note_range(arena.block, kBytes, 0);
  MUST(launch_fill(arena.block, kWords, 1, s.a));
  MUST(cudaStreamSynchronize(s.a));
}

void queued_after_a_free() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  MUST(cudaFreeAsync(p, s.a));  // in the stream's order: under the late schedule it has not happened yet
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaStreamSynchronize(s.a));
}

// None of these is a mistake.
void clean() {
  Streams s;
  Arena arena;
  cudaEvent_t event = nullptr;
  MUST(cudaEventCreate(&event));
  // The same stream: an allocator may hand a block out again at once.
  for (std::uint64_t generation = 1; generation < 5; ++generation) {
    note_range_async(arena.block, kBytes, generation, s.a);
    MUST(launch_fill(arena.block, kWords, 1, s.a));
    note_range_async(arena.block, kBytes, 0, s.a);
  }
  // Another stream, behind an event.
  MUST(cudaEventRecord(event, s.a));
  MUST(cudaStreamWaitEvent(s.b, event, 0));
  note_range_async(arena.block, kBytes, 9, s.b);
  MUST(launch_fill(arena.block, kWords, 1, s.b));
  note_range_async(arena.block, kBytes, 0, s.b);
  // Pool memory in its stream, and in another behind an event.
  std::uint32_t* p = nullptr;
  for (int i = 0; i < 4; ++i) {
    p = pool_block(s.a);
    MUST(launch_fill(p, kWords, 1, s.a));
    MUST(cudaEventRecord(event, s.a));
    MUST(cudaStreamWaitEvent(s.b, event, 0));
    MUST(launch_add(p, kWords, 1, s.b));
    MUST(cudaFreeAsync(p, s.b));
    p = pool_block(s.b);
    MUST(cudaMemsetAsync(p, 1, kBytes, s.b));
    MUST(cudaFreeAsync(p, s.b));
  }
  // Freed by the host after it has waited; freed plainly, which waits by itself.
  p = pool_block(s.a);
  MUST(cudaStreamSynchronize(s.a));
  MUST(cudaFree(p));
  p = pool_block(s.b);  // perhaps the same place, at once
  MUST(launch_fill(p, kWords, 3, s.b));
  MUST(cudaFreeAsync(p, s.b));
  MUST(cudaMalloc(&p, kBytes));
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaFree(p));
  // Mapped memory, unmapped when its work is over.
  Mapping m;
  MUST(launch_fill(m.words(), kWords, 1, s.a));
  MUST(cudaStreamSynchronize(s.a));
  MUST_DRIVER(cuMemUnmap(m.p, 2 * kMiB));
  MUST(cudaDeviceSynchronize());
}

// Allocated in a stream, freed plainly before the stream has come to it: nothing uses it, so nothing is wrong.
void clean_unused_allocation() {
  Streams s;
  for (int i = 0; i < 3; ++i) {
    MUST(cudaFree(pool_block(s.a)));
    std::uint32_t* const p = pool_block(s.b);
    MUST(launch_fill(p, kWords, 3, s.b));
    MUST(cudaStreamSynchronize(s.b));
    MUST(cudaStreamSynchronize(s.a));
    MUST(launch_fill(p, kWords, 3, s.b));
    MUST(cudaFreeAsync(p, s.b));
    MUST(cudaDeviceSynchronize());
  }
}

// ---- faults ---------------------------------------------------------------------------------------------------------

// One line: the error of each of six allocations of different kinds and growing size.
void allocate_six() {
  Streams s;
  void* p = nullptr;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  int const errors[] = {cudaMalloc(&p, 1000),
                        cudaMallocAsync(&p, kMiB, s.a),
                        cudaMallocManaged(&p, 2 * kMiB, cudaMemAttachGlobal),
                        static_cast<int>(cuMemCreate(&handle, 4 * kMiB, &prop, 0)),
                        cudaMalloc(&p, 8 * kMiB),
                        cudaMalloc(&p, 16 * kMiB)};
  for (int const error : errors) std::printf("%d ", error);
  std::printf("\n");
}

// The error of each launch and of the synchronisation after it.
void launch_four() {
  std::uint32_t* p = nullptr;
  MUST(cudaMalloc(&p, kBytes));
  for (int i = 0; i < 4; ++i) {
    (void)launch_add(p, kWords, 1, nullptr);
    std::printf("%d ", cudaDeviceSynchronize());
  }
  std::printf("\n");
}

// Milliseconds that ten frees take.
void free_ten() {
  void* blocks[10];
  for (void*& p : blocks) MUST(cudaMalloc(&p, 1000));
  auto const start = std::chrono::steady_clock::now();
  for (void* const p : blocks) MUST(cudaFree(p));
  auto const took = std::chrono::steady_clock::now() - start;
  std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

// Milliseconds that ten waits of each kind take.
void synchronize_ten() {
  Streams s;
  cudaEvent_t event = nullptr;
  MUST(cudaEventCreate(&event));
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    MUST(cudaStreamSynchronize(s.a));
    MUST(cudaEventSynchronize(event));
    MUST(cudaDeviceSynchronize());
  }
  auto const took = std::chrono::steady_clock::now() - start;
  std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

// ---- execute mode and dry run ---------------------------------------------------------------------------------------

void launch_kernels_without_bodies() {
  std::uint32_t* p = nullptr;
  MUST(cudaMalloc(&p, kBytes));
  for (int i = 0; i < 2; ++i) std::printf("%s ", cudaGetErrorName(launch_without_body(p)));
  std::printf("%s\n", cudaGetErrorName(launch_fill(p, kWords, 1, nullptr)));
}

void read_two_variables() {
  std::uint32_t word = 99, table[4] = {99, 99, 99, 99};
  MUST(cudaMemcpyFromSymbol(&word, device_word_symbol(), sizeof word));
  MUST(cudaMemcpyFromSymbol(table, constant_table_symbol(), sizeof table));
  std::printf("%u %u\n", word, table[3]);
}

// Whether bytes that went to the device come back, by their number.
void copy_and_set_64_kib_and_more() {
  constexpr std::size_t kLimit = 64 * 1024;
  for (std::size_t const bytes : {kLimit, kLimit + 1}) {
    std::vector<unsigned char> const host(bytes, 7);
    std::vector<unsigned char> copied(bytes), set(bytes);
    unsigned char* p = nullptr;
    MUST(cudaMalloc(&p, 2 * bytes));
    MUST(cudaMemcpy(p, host.data(), bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemset(p + bytes, 7, bytes));
    MUST(cudaMemcpy(copied.data(), p, bytes, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(set.data(), p + bytes, bytes, cudaMemcpyDeviceToHost));
    std::printf("%s %s\n", copied == host ? "copied" : "lost", set == host ? "set" : "lost");
  }
}

// ---- time -----------------------------------------------------------------------------------------------------------

float between(cudaEvent_t start, cudaEvent_t end) {
  float ms = -1;
  MUST(cudaEventElapsedTime(&ms, start, end));
  return ms;
}

// Five kernels in one stream; two streams with three and four at once; one behind the other by an event.
void times() {
  Streams s;
  std::uint32_t* p = nullptr;
  MUST(cudaMalloc(&p, kBytes));
  cudaEvent_t start = nullptr, end_a = nullptr, end_b = nullptr;
  for (cudaEvent_t* const event : {&start, &end_a, &end_b}) MUST(cudaEventCreate(event));
  MUST(cudaEventRecord(start, s.a));
  for (int i = 0; i < 5; ++i) MUST(launch_add(p, kWords, 1, s.a));
  MUST(cudaEventRecord(end_a, s.a));
  MUST(cudaDeviceSynchronize());
  std::printf("%.6f ", between(start, end_a));
  MUST(cudaEventRecord(start, s.a));
  MUST(cudaStreamWaitEvent(s.b, start, 0));
  for (int i = 0; i < 3; ++i) MUST(launch_add(p, kWords, 1, s.a));
  for (int i = 0; i < 4; ++i) MUST(launch_add(p + kWords / 2, kWords / 2, 1, s.b));
  MUST(cudaEventRecord(end_a, s.a));
  MUST(cudaEventRecord(end_b, s.b));
  MUST(cudaDeviceSynchronize());
  std::printf("%.6f %.6f ", between(start, end_a), between(start, end_b));
  MUST(cudaStreamWaitEvent(s.a, end_b, 0));
  MUST(cudaEventRecord(start, s.b));
  MUST(launch_add(p, kWords, 1, s.b));
  MUST(cudaEventRecord(end_b, s.b));
  MUST(cudaStreamWaitEvent(s.a, end_b, 0));
  MUST(cudaMemsetAsync(p, 0, kBytes, s.a));
  MUST(cudaEventRecord(end_a, s.a));
  MUST(cudaDeviceSynchronize());
  std::printf("%.6f\n", between(start, end_a));
}

// Milliseconds of the host's time for four kernels.
void wall_time() {
  std::uint32_t* p = nullptr;
  MUST(cudaMalloc(&p, kBytes));
  MUST(cudaDeviceSynchronize());
  auto const start = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) MUST(launch_add(p, kWords, 1, nullptr));
  MUST(cudaDeviceSynchronize());
  auto const took = std::chrono::steady_clock::now() - start;
  std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

// ---- several processes ----------------------------------------------------------------------------------------------

void show_free() {
  std::size_t free_bytes = 0, total = 0;
  MUST(cudaMemGetInfo(&free_bytes, &total));
  std::printf("%zu\n", free_bytes);
}

// Takes 100 MiB, says so, and keeps it until stdin ends.
void hold() {
  void* p = nullptr;
  MUST(cudaMalloc(&p, 100 * kMiB));
  std::printf("held\n");
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

// ---- the beginning and the end of a process -------------------------------------------------------------------------

struct FreedAtExit {
  void* memory = nullptr;
  ~FreedAtExit() {
    if (memory != nullptr) std::printf("%s\n", cudaGetErrorName(cudaFree(memory)));
  }
};
FreedAtExit freed_at_exit;

void free_in_a_static_destructor() {
  MUST(cudaMalloc(&freed_at_exit.memory, kMiB));
}

// What an allocation gives, in a child and then here.
void allocate_in_a_child_and_here() {
  auto const allocate = [] {
    void* p = nullptr;
    std::printf("%s\n", cudaGetErrorName(cudaMalloc(&p, kMiB)));
    std::fflush(stdout);
  };
  pid_t const child = ::fork();
  if (child == 0) {
    allocate();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  allocate();
}

void fork_before_the_first_use() {
  int version = 0;
  MUST(cudaDriverGetVersion(&version));  // the driver is loaded, no device is used
  allocate_in_a_child_and_here();
}

void fork_after_the_first_use() {
  MUST(cudaFree(nullptr));
  allocate_in_a_child_and_here();
}

void exit_with_work_queued() {
  Streams s;
  std::uint32_t* const p = pool_block(s.a);
  void* host = nullptr;
  MUST(cudaMallocHost(&host, kBytes));
  MUST(launch_fill(p, kWords, 1, s.a));
  MUST(cudaMemcpyAsync(host, p, kBytes, cudaMemcpyDeviceToHost, s.a));
  MUST(cudaLaunchHostFunc(
      s.b, [](void*) {}, nullptr));
  std::thread([stream = s.b] { (void)cudaStreamSynchronize(stream); }).detach();
}

struct Scenario {
  const char* name;
  void (*run)();
};

#define SCENARIO(name) \
  { #name, &name }
constexpr Scenario kScenarios[] = {SCENARIO(free_on_another_stream),
                                   SCENARIO(reuse_on_another_stream),
                                   SCENARIO(copy_from_freed_memory),
                                   SCENARIO(plain_free_of_pool_memory_in_use),
                                   SCENARIO(plain_memory_freed_on_another_stream),
                                   SCENARIO(use_before_allocation),
                                   SCENARIO(unmap_in_use),
                                   SCENARIO(unmap_copy_in_use),
                                   SCENARIO(allocator_frees_in_use),
                                   SCENARIO(allocator_serves_again_in_use),
                                   SCENARIO(allocator_frees_on_another_stream),
                                   SCENARIO(queued_after_the_allocators_free),
                                   SCENARIO(queued_after_a_free),
                                   SCENARIO(clean),
                                   SCENARIO(clean_unused_allocation),
                                   SCENARIO(allocate_six),
                                   SCENARIO(launch_four),
                                   SCENARIO(free_ten),
                                   SCENARIO(launch_kernels_without_bodies),
                                   SCENARIO(read_two_variables),
                                   SCENARIO(copy_and_set_64_kib_and_more),
                                   SCENARIO(synchronize_ten),
                                   SCENARIO(times),
                                   SCENARIO(wall_time),
                                   SCENARIO(show_free),
                                   SCENARIO(hold),
                                   SCENARIO(free_in_a_static_destructor),
                                   SCENARIO(fork_before_the_first_use),
                                   SCENARIO(fork_after_the_first_use),
                                   SCENARIO(exit_with_work_queued)};

int run(const char* name) {
  for (Scenario const& scenario : kScenarios) {
    if (std::strcmp(scenario.name, name) != 0) continue;
    scenario.run();
    return 0;
  }
  std::fprintf(stderr, "no scenario '%s'\n", name);
  return 2;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  return argc == 2 ? conformance::run(argv[1]) : 2;
}
