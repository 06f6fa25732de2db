// SPDX-License-Identifier: Apache-2.0
// What does it cost to run a CUDA kernel body on the CPU? Per CUDA thread of a flat kernel, per thread and barrier, per
// thread and shuffle; beside them the same barrier on ucontext, which the engine does not use (docs/decisions/0003).
// The bodies are in a kernel library of their own, opened as the device opens it.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "softgpu/kernel/registry.h"

namespace {

const SoftgpuKernel& kernel(std::string_view name) {
  static const SoftgpuKernelLibrary* const library = [] {
    void* const handle = dlopen(BENCH_KERNEL_LIBRARY, RTLD_NOW);
    void* const entry = handle ? dlsym(handle, SOFTGPU_KERNEL_LIBRARY_ENTRY) : nullptr;
    if (!entry) std::fprintf(stderr, "%s\n", dlerror()), std::exit(1);
    return reinterpret_cast<SoftgpuKernelLibraryFn>(entry)();
  }();
  for (unsigned i = 0; i < library->kernel_count; ++i)
    if (library->kernels[i].name == name) return library->kernels[i];
  std::fprintf(stderr, "no kernel %.*s\n", static_cast<int>(name.size()), name.data());
  std::exit(1);
}

template <class... A>
void launch(benchmark::State& state, std::string_view name, unsigned threads, std::uint64_t blocks, A... args) {
  SoftgpuLaunch const shape{.grid = {static_cast<std::uint32_t>(blocks), 1, 1}, .block = {threads, 1, 1}};
  const SoftgpuKernel& body = kernel(name);
  void* params[] = {static_cast<void*>(&args)...};
  for (auto _ : state)
    if (body.run(&shape, params, 0, blocks) != SOFTGPU_KERNEL_OK) state.SkipWithError("the kernel failed");
}
// Time per item: items are what the cost is counted by.
void per_item(benchmark::State& state, double items) {
  state.counters["ns_per_item"] = benchmark::Counter(items * static_cast<double>(state.iterations()) * 1e-9,
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void flat_kernel(benchmark::State& state) {
  constexpr std::uint64_t kBlocks = 64;
  auto const threads = static_cast<unsigned>(state.range(0));
  std::vector<float> a(threads * kBlocks, 1), b(a), c(a);
  launch(state, "flat_add", threads, kBlocks, a.data(), b.data(), c.data(), static_cast<int>(c.size()));
  per_item(state, static_cast<double>(threads * kBlocks));
}
BENCHMARK(flat_kernel)->Arg(256)->Arg(1024);

void thread_without_barrier(benchmark::State& state) {
  auto const threads = static_cast<unsigned>(state.range(0));
  launch(state, "empty_thread", threads, 16, 0);
  per_item(state, threads * 16.0);
}
BENCHMARK(thread_without_barrier)->Arg(256)->Arg(1024);

constexpr int kRounds = 64;

void barrier_per_thread(benchmark::State& state) {
  auto const threads = static_cast<unsigned>(state.range(0));
  launch(state, "barriers", threads, 1, kRounds);
  per_item(state, threads * static_cast<double>(kRounds));
}
BENCHMARK(barrier_per_thread)->Arg(32)->Arg(128)->Arg(256)->Arg(1024);

void shuffle_per_thread(benchmark::State& state) {
  auto const threads = static_cast<unsigned>(state.range(0));
  float out = 0;
  launch(state, "shuffles", threads, 1, &out, kRounds);
  per_item(state, threads * static_cast<double>(kRounds));
}
BENCHMARK(shuffle_per_thread)->Arg(32)->Arg(256)->Arg(1024);

void reduction_per_thread(benchmark::State& state) {
  auto const threads = static_cast<unsigned>(state.range(0));
  std::vector<float> in(threads, 1);
  float out = 0;
  launch(state, "reduce_in_shared", threads, 4, in.data(), &out);
  per_item(state, threads * 4.0);
}
BENCHMARK(reduction_per_thread)->Arg(256)->Arg(1024);

// The same barrier kernel, each thread an ucontext on a stack of its own, in a ring.
struct Ring {
  std::vector<ucontext_t> contexts;
  ucontext_t main;
  unsigned left = 0;
};
Ring* g_ring;
void ring_thread(int index) {
  auto const self = static_cast<unsigned>(index);
  for (int i = 0; i < kRounds; ++i)
    swapcontext(&g_ring->contexts[self], &g_ring->contexts[(self + 1) % g_ring->contexts.size()]);
  if (--g_ring->left == 0) setcontext(&g_ring->main);
}
// Apart from its callers: getcontext could return twice, as compilers see it.
void prepare(Ring& ring, unsigned i, char* stack, std::size_t bytes) {
  ucontext_t& context = ring.contexts[i];
  getcontext(&context);
  context.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = bytes};
  context.uc_link = &ring.contexts[(i + 1) % ring.contexts.size()];
  makecontext(&context, reinterpret_cast<void (*)()>(&ring_thread), 1, static_cast<int>(i));
}
void barrier_per_thread_on_ucontext(benchmark::State& state) {
  constexpr std::size_t kStack = 64 << 10;
  auto const threads = static_cast<unsigned>(state.range(0));
  std::vector<char> stacks(threads * kStack);
  for (auto _ : state) {
    Ring ring{.contexts = std::vector<ucontext_t>(threads), .left = threads};
    g_ring = &ring;
    for (unsigned i = 0; i < threads; ++i) prepare(ring, i, &stacks[i * kStack], kStack);
    swapcontext(&ring.main, &ring.contexts[0]);
    g_ring = nullptr;
  }
  per_item(state, threads * static_cast<double>(kRounds));
}
BENCHMARK(barrier_per_thread_on_ucontext)->Arg(256)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
