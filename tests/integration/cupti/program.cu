// SPDX-License-Identifier: Apache-2.0
// usage: cupti_program SCENE
// A program that allocates, marks and launches, as the test beside it says. Prints what it computed.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/integration/cupti/bodies.h"

namespace {

void check(int code, const char* what, int line) {
  if (code == 0) return;
  std::fprintf(stderr, "program.cu:%d: %s: error %d\n", line, what, code);
  std::exit(1);
}
#define CHECK(call) check(static_cast<int>(call), #call, __LINE__)

constexpr int kCount = 1000;
constexpr std::size_t kMiB = 1 << 20;

struct Layer {
  explicit Layer(const char* name) { tidemark_push(TIDEMARK_LAYER, name); }
  ~Layer() { tidemark_pop(TIDEMARK_LAYER); }
};
struct Phase {
  explicit Phase(const char* name) { tidemark_push(TIDEMARK_PHASE, name); }
  ~Phase() { tidemark_pop(TIDEMARK_PHASE); }
};

void fill(int* x, int value, cudaStream_t stream = nullptr) {
  watched::fill<<<(kCount + 127) / 128, 128, 0, stream>>>(x, value, kCount);
  CHECK(cudaGetLastError());
}
void add(int* x, int value, cudaStream_t stream = nullptr) {
  watched::add<<<(kCount + 127) / 128, 128, 0, stream>>>(x, value, kCount);
  CHECK(cudaGetLastError());
}

int* allocate() {
  int* x = nullptr;
  CHECK(cudaMalloc(&x, kCount * sizeof(int)));
  return x;
}
int last_of(const int* x) {
  int value = 0;
  CHECK(cudaMemcpy(&value, x + kCount - 1, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

// Three steps of two layers; between them, a kernel outside of every layer.
int training() {
  int* const x = allocate();
  int sum = 0;
  for (unsigned step = 1; step <= 3; ++step) {
    tidemark_step(step);
    {
      Phase const forward("forward");
      Layer const encoder("encoder");
      fill(x, 1);
      Layer const attention("attn");
      add(x, 2);
    }
    {
      Phase const backward("backward");
      Layer const encoder("encoder");
      add(x, 3);
    }
    add(x, 4);
    sum += last_of(x);
  }
  CHECK(cudaFree(x));
  return sum;
}

// The same words in NVTX.
int ranges() {
  int* const x = allocate();
  nvtxRangePushA("decoder");
  fill(x, 5);
  nvtxRangePop();
  int const value = last_of(x);
  CHECK(cudaFree(x));
  return value;
}

// Four threads, each with a layer and a stream of its own.
int threads() {
  std::vector<int> sums(4);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([t, &sums] {
      char name[16];
      std::snprintf(name, sizeof name, "worker%d", t);
      Layer const layer(name);
      cudaStream_t stream = nullptr;
      CHECK(cudaStreamCreate(&stream));
      for (int i = 0; i < 50; ++i) {
        int* const x = allocate();
        fill(x, t, stream);
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFree(x));
      }
      int* const x = allocate();
      fill(x, t, stream);
      CHECK(cudaStreamSynchronize(stream));
      sums[static_cast<std::size_t>(t)] = last_of(x);
      CHECK(cudaFree(x));
      CHECK(cudaStreamDestroy(stream));
    });
  for (auto& t : all) t.join();
  return sums[0] + sums[1] + sums[2] + sums[3];
}

void map_and_unmap() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  CHECK(cuMemCreate(&handle, 4 * kMiB, &prop, 0));
  CHECK(cuMemAddressReserve(&range, 4 * kMiB, 0, 0, 0));
  CHECK(cuMemMap(range, 4 * kMiB, 0, handle, 0));
  CHECK(cuMemUnmap(range, 4 * kMiB));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemAddressFree(range, 4 * kMiB));
}

void launch_graph_with_memory() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  void* block = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&block, kMiB, stream));
  CHECK(cudaMemsetAsync(block, 1, kMiB, stream));
  CHECK(cudaFreeAsync(block, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

// Every class of memory, some of it still alive at the end.
int classes() {
  void *plain = nullptr, *pitched = nullptr, *managed = nullptr, *pinned = nullptr, *pooled = nullptr, *kept = nullptr;
  std::size_t pitch = 0;
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc(&plain, 1000));
  CHECK(cudaMallocPitch(&pitched, &pitch, 100, 7));
  CHECK(cudaMallocManaged(&managed, 3000));
  CHECK(cudaMallocHost(&pinned, 5000));
  CHECK(cudaMallocAsync(&pooled, 3 * kMiB, nullptr));
  CHECK(cudaMalloc(&kept, 7 * kMiB));
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, 64, 4));
  std::vector<char> own(1 << 16);
  CHECK(cudaHostRegister(own.data(), own.size(), 0));
  map_and_unmap();
  launch_graph_with_memory();
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeAsync(pooled, nullptr));
  CHECK(cudaFreeAsync(plain, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaHostUnregister(own.data()));
  return 0;
}

// Blocks that go with their context.
int contexts() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr block = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  CHECK(cuMemAlloc(&block, 12345));
  CHECK(cuCtxDestroy(context));
  return training();
}

// Memory of a pool is the device's, not the context's in which it was asked for.
int pools() {
  CUdevice device = 0;
  CUcontext first = nullptr, second = nullptr;
  CUdeviceptr plain = 0, pooled = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&second, nullptr, 0, device));
  CHECK(cuCtxCreate(&first, nullptr, 0, device));
  CHECK(cuMemAlloc(&plain, 100));
  CHECK(cuMemAllocAsync(&pooled, 200, nullptr));
  CHECK(cuCtxDestroy(first));
  CHECK(cuCtxSetCurrent(second));
  CHECK(cuMemFree(pooled));
  CHECK(cuCtxDestroy(second));
  return 0;
}

// The runtime forgets everything, and goes on.
int resets() {
  void *plain = nullptr, *pooled = nullptr;
  CHECK(cudaMalloc(&plain, 100));
  CHECK(cudaMallocAsync(&pooled, 200, nullptr));
  CHECK(cudaDeviceReset());
  return training();
}

// Odd sizes until there is no more.
int until_full() {
  std::vector<void*> blocks;
  void* block = nullptr;
  while (blocks.size() < 1000 && cudaMalloc(&block, kMiB + kMiB / 2) == cudaSuccess) blocks.push_back(block);
  (void)cudaGetLastError();
  for (void* const b : blocks) CHECK(cudaFree(b));
  return static_cast<int>(blocks.size());
}

template <class F>
F find(const char* file, const char* name) {
  void* const library = dlopen(file, RTLD_LAZY);
  auto const found = library == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library, name));
  if (found == nullptr) std::exit(77);
  return found;
}

template <class F>
F cupti(const char* name) {
  return find<F>("libcupti.so.13", name);
}

// Kernels that a library launches.
int gemm() {
  auto const create = find<int (*)(void**)>("libcublas.so.13", "cublasCreate_v2");
  auto const multiply = find<int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                                     const float*, float*, int)>("libcublas.so.13", "cublasSgemm_v2");
  void* handle = nullptr;
  float* x = nullptr;
  float const one = 1, zero = 0;
  CHECK(create(&handle));
  CHECK(cudaMalloc(&x, 64 * 64 * sizeof *x));
  CHECK(cudaMemset(x, 0, 64 * 64 * sizeof *x));
  for (const char* const layer : {"first", "second"}) {
    Layer const open(layer);
    CHECK(multiply(handle, 0, 0, 32, 32, 32, &one, x, 32, x + 1024, 32, &zero, x + 2048, 32));
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(x));
  return 0;
}

// The program is a client of CUPTI itself. Prints whom it met.
void subscribe(const char* as) {
  static auto const call = cupti<decltype(&cuptiSubscribe_v2)>("cuptiSubscribe_v2");
  CUpti_SubscriberHandle handle = nullptr;
  char holder[128] = "";
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = as;
  params.oldSubscriberName = holder;
  params.oldSubscriberSize = sizeof holder;
  auto const nothing = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  CUptiResult const result = call(&handle, nothing, nullptr, &params);
  std::printf("subscribed: %d, held by '%s'\n", static_cast<int>(result), holder);
}

int busy() {
  subscribe("the program");
  return training();
}
int busy_later() {
  int const sum = training();
  subscribe("the program");
  return sum;
}
int brings_cupti() {
  (void)cupti<void*>("cuptiGetVersion");
  return training();
}

// A child of fork goes on with marks and ends by itself.
int forks() {
  int const sum = training();
  pid_t const child = fork();
  if (child == 0) {
    Layer const layer("child");
    tidemark_step(99);
    std::exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child: %d\n", WEXITSTATUS(status));
  return sum;
}

int ends_in_thread() {
  int const sum = training();
  std::printf("%d\n", sum);
  std::thread([] { std::exit(3); }).join();
  return 0;
}

// Long enough for several buffers.
int long_run() {
  int* const x = allocate();
  Layer const layer("long");
  for (int i = 0; i < 5000; ++i) add(x, 1);
  CHECK(cudaDeviceSynchronize());
  int const sum = last_of(x);
  CHECK(cudaFree(x));
  return sum;
}

int killed() {
  training();
  std::fflush(stdout);
  raise(SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  struct Scene {
    const char* name;
    int (*play)();
  };
  Scene const scenes[] = {{"training", training},
                          {"threads", threads},
                          {"classes", classes},
                          {"contexts", contexts},
                          {"busy", busy},
                          {"busy_later", busy_later},
                          {"forks", forks},
                          {"ends_in_thread", ends_in_thread},
                          {"long_run", long_run},
                          {"killed", killed},
                          {"brings_cupti", brings_cupti},
                          {"until_full", until_full},
                          {"pools", pools},
                          {"gemm", gemm},
                          {"ranges", ranges},
                          {"resets", resets}};
  for (Scene const& scene : scenes)
    if (argc == 2 && std::strcmp(argv[1], scene.name) == 0) {
      int const sum = scene.play();
      std::printf("%d\n", sum);
      return 0;
    }
  std::fprintf(stderr, "usage: cupti_program SCENE\n");
  return 2;
}
