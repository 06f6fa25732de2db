// SPDX-License-Identifier: Apache-2.0
// usage: bench_doors [--short]
// What does a door cost? A call of a function that does nothing: as the driver's own, through the exported door with
// nobody listening, and with a listener that does nothing; and looking functions up, with and without the library. Runs
// itself again with the library preloaded, on a driver that answers lookups alone. Prints JSON.
#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/integration/doors/fake/fake.h"
#include "tests/integration/doors/listening.h"

namespace {

namespace order = tidemark::interpose::order;

bool g_short = false;

// The best of several rounds: other work on the machine only ever adds time.
template <class F>
double best_ns(int calls, F f) {
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 50); ++round) {
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

template <class F>
F must(void* found, const char* what) {
  if (found != nullptr) return reinterpret_cast<F>(found);
  std::fprintf(stderr, "bench_doors.cpp: no %s\n", what);
  std::exit(1);
}

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**);
using Ask = int (*)(const char*, void**, int, unsigned long long, int*);

int nothing() {
  return 0;
}

void lookups(void* driver, const char* how) {
  auto const name = [&](const char* what) { return std::string(what) + "_ns_" + how; };
  auto const ask = must<Ask>(dlsym(driver, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  void* found = nullptr;
  int status = 0;
  print(name("dlsym_malloc").c_str(), best_ns(2000, [&] { found = dlsym(RTLD_DEFAULT, "malloc"); }));
  print(name("dlsym_cuInit").c_str(), best_ns(2000, [&] { found = dlsym(driver, "cuInit"); }));
  print(name("dlsym_cuMemAlloc").c_str(), best_ns(2000, [&] { found = dlsym(driver, "cuMemAlloc_v2"); }));
  print(name("ask_cuInit").c_str(), best_ns(500, [&] { ask("cuInit", &found, 13000, 0, &status); }));
  print(name("ask_cuMemAlloc").c_str(), best_ns(500, [&] { ask("cuMemAlloc", &found, 13000, 0, &status); }));
}

int bare(char** arguments) {
  utsname machine{};
  ::uname(&machine);
  std::printf("{\"bench\": \"doors\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  setenv("LD_LIBRARY_PATH", BENCH_LIBRARIES, 1);
  lookups(must<void*>(dlopen(BENCH_LIBRARIES "/libcuda.so.1", RTLD_NOW), "driver"), "bare");
  std::fflush(stdout);
  setenv("LD_PRELOAD", BENCH_PRELOAD, 1);
  setenv("BENCH_DOORS_PRELOADED", "1", 1);
  execv("/proc/self/exe", arguments);
  return 1;
}

int preloaded() {
  void* const driver = must<void*>(dlopen("libcuda.so.1", RTLD_NOW), "driver");
  void* const ours = must<void*>(dlopen(BENCH_PRELOAD, RTLD_NOW | RTLD_NOLOAD), "library");
  auto const replace = must<decltype(&fake_override)>(dlsym(driver, "fake_override"), "fake_override");
  replace("cuLaunchKernel", reinterpret_cast<void*>(&nothing));
  lookups(driver, "preloaded");

  auto const direct = must<Launch>(dlsym(driver, "cuLaunchKernel"), "cuLaunchKernel");
  auto const door = must<Launch>(dlvsym(ours, "cuLaunchKernel", "TIDEMARK_1"), "door");
  auto const listening = must<const tidemark::doors::Listening* (*)()>(
      dlvsym(ours, "tidemark_test_listening", "TIDEMARK_1"), "listening")();
  int const calls = g_short ? 10'000 : 1'000'000;
  auto const time = [&](Launch f) {
    return best_ns(calls, [&] { f(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); });
  };
  double const plain = time(direct), idle = time(door);
  listening->listen([](const order::Submission&) {}, order::Layers::Driver);
  double const heard = time(door);
  listening->listen(nullptr, order::Layers::Driver);
  double const idle_again = time(door);
  print("call_direct_ns", plain);
  print("call_door_ns", idle);
  print("call_door_heard_ns", heard);
  print("door_costs_ns", std::min(idle, idle_again) - plain);
  print("door_heard_costs_ns", heard - plain);
  std::printf("}\n");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  g_short = count > 1 && std::strcmp(arguments[1], "--short") == 0;
  return std::getenv("BENCH_DOORS_PRELOADED") == nullptr ? bare(arguments) : preloaded();
}
