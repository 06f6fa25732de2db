// SPDX-License-Identifier: Apache-2.0
// usage: bench_front [--short]
// What does it cost that calls can be observed? A front against the function behind it, with nobody looking; then real
// calls of the software device with nobody looking, with a callback, and with records. Prints JSON. Run it with the
// device's libraries on the path: LD_LIBRARY_PATH=BUILD/lib/softgpu SOFTGPU_DRY_RUN=1 BUILD/bin/bench_front
#include <cuda.h>
#include <cupti.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "softgpu/interface/front.h"

namespace {

using namespace tidemark::softgpu;

void check(int code, int expected, int line) {
  if (code == expected) return;
  std::fprintf(stderr, "bench_front.cpp:%d: error %d\n", line, code);
  std::exit(1);
}
#define CU(call) check(call, CUDA_SUCCESS, __LINE__)
#define OK(call) check(call, CUPTI_SUCCESS, __LINE__)

// As the generator writes them (softgpu/generate/fronts.py).
[[gnu::noinline]] int behind(int* out, std::size_t value) {
  *out += static_cast<int>(value);
  return 0;
}
[[gnu::noinline, gnu::cold]] int watched(int* out, std::size_t value) {
  SoftgpuCall call{SOFTGPU_DRIVER_API, 1, "behind", nullptr, nullptr, 1, __builtin_return_address(0), {}};
  return observed(call, [&] { return behind(out, value); });
}
[[gnu::noinline]] int front(int* out, std::size_t value) {
  return observer() == nullptr ? behind(out, value) : watched(out, value);
}

bool g_short = false;

// The best of several rounds: other work on the machine only ever adds time.
template <class F>
double best_ns(int calls, F f) {
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 30); ++round) {
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) f();
    std::chrono::duration<double, std::nano> const spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / calls);
  }
  return best;
}

void print(const char* question, double ns) {
  std::printf(",\n  \"%s\": %.2f", question, ns);
}

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}
void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

struct Calls {
  CUfunction kernel = nullptr;
  void version() const {
    int v = 0;
    CU(cuDriverGetVersion(&v));
  }
  void memory() const {
    CUdeviceptr block = 0;
    CU(cuMemAlloc(&block, 4096));
    CU(cuMemFree(block));
  }
  void launch() const { CU(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)); }
};

void measure(const Calls& calls, const std::string& how) {
  print(("version_ns_" + how).c_str(), best_ns(20000, [&] { calls.version(); }));
  print(("malloc_free_ns_" + how).c_str(), best_ns(2000, [&] { calls.memory(); }));
  print(("launch_ns_" + how).c_str(), best_ns(2000, [&] { calls.launch(); }));
}

}  // namespace

int main(int count, char** arguments) {
  g_short = count > 1 && std::strcmp(arguments[1], "--short") == 0;
  utsname machine{};
  ::uname(&machine);
  std::printf("{\"bench\": \"front\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  int sum = 0;
  double const direct = best_ns(1'000'000, [&] { behind(&sum, 3); });
  double const through = best_ns(1'000'000, [&] { front(&sum, 3); });
  print("direct_ns", direct);
  print("front_ns", through);
  print("front_costs_ns", through - direct);

  CU(cuInit(0));
  CUcontext context = nullptr;
  CU(cuDevicePrimaryCtxRetain(&context, 0));
  CU(cuCtxSetCurrent(context));
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module,
                      ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n"));
  Calls calls;
  CU(cuModuleGetFunction(&calls.kernel, module, "nothing"));
  measure(calls, "unobserved");

  CUpti_SubscriberHandle subscriber = nullptr;
  OK(cuptiSubscribe(
      &subscriber, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr));
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
  measure(calls, "with_callbacks");
  OK(cuptiUnsubscribe(subscriber));

  OK(cuptiActivityRegisterCallbacks(request, complete));
  for (CUpti_ActivityKind const kind :
       {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
    OK(cuptiActivityEnable(kind));
  measure(calls, "with_records");
  OK(cuptiFinalize());
  measure(calls, "unobserved_again");
  std::printf("}\n");
  return 0;
}
