// SPDX-License-Identifier: Apache-2.0
// usage: bench_scope [--short] [--folder DIR]
// What do scopes cost? A range of NVTX and a layer of the C API, opened and closed, before and while there is a trace,
// beside NVTX without a tool; a native call stack with its record, at ordinary depths, beside libunwind (where it is
// installed) and the compiler's own unwinder, which keep no record. Prints JSON.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <tidemark/tidemark.h>
#include <unistd.h>
#include <unwind.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "interpose/process/process.h"
#include "interpose/stack/stacks.h"
#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace {

using namespace tidemark;

bool g_short = false;
std::string g_folder = std::filesystem::temp_directory_path();

double seconds_of(auto f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The best of several rounds: other work on the machine only ever adds time.
double best_ns(std::size_t calls, const std::function<void(std::size_t)>& f) {
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 15); ++round)
    best = std::min(best, seconds_of([&] {
                            for (std::size_t i = 0; i < calls; ++i) f(i);
                          }) * 1e9 /
                              static_cast<double>(calls));
  return best;
}

void print(const std::string& question, double value) {
  std::printf(",\n  \"%s\": %.2f", question.c_str(), value);
}

// Calls f with so many frames between.
[[gnu::noinline]] void at_depth(int depth, const std::function<void()>& f) {
  if (depth <= 0)
    f();
  else
    at_depth(depth - 1, f);
  asm volatile("" ::: "memory");
}

struct Recording {
  std::string path = g_folder + "/bench_scope-" + std::to_string(getpid()) + ".tide";
  trace::File& file = *new trace::File;  // mapped until the end
  trace::Dictionary& names = *new trace::Dictionary;
  interpose::Stacks& stacks = *new interpose::Stacks;
  trace::Lane lane;
  Recording() {
    auto made = file.create({.path = path});
    if (made.ok() && !names.start(file)) made = Error{Errc::OutOfMemory, "no memory", ""};
    if (made.ok()) made = stacks.start(file, nullptr);
    if (!made.ok()) {
      std::fprintf(stderr, "bench_scope: %s\n", made.error().what.c_str());
      std::exit(1);
    }
    lane.start(file, 1);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { unlink(path.c_str()); }

  void event(std::size_t i) {
    lane.stack(stacks.here(names));
    lane.alloc({.address = 0x7f0000000000 + (i << 9 & 0xffffff), .size_bytes = 4096});
  }
};

_Unwind_Reason_Code count_frame(_Unwind_Context* context, void* count) {
  std::uintptr_t const address = _Unwind_GetIP(context);
  asm volatile("" ::"r"(address));
  ++*static_cast<int*>(count);
  return _URC_NO_REASON;
}

int frames_by_compiler() {
  int count = 0;
  _Unwind_Backtrace(count_frame, &count);
  return count;
}

// Frames as counted by the compiler's unwinder in the function that the others are called from.
void stacks_at(int depth) {
  auto const name = [&](const char* what) { return std::string(what) + "_" + std::to_string(depth) + "_frames_ns"; };
  static auto const libunwind = reinterpret_cast<int (*)(void**, int)>([]() -> void* {
    void* const library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    return library == nullptr ? nullptr : dlsym(library, "unw_backtrace");
  }());
  int extra = 0;
  std::function<void()> const probe = [&] { best_ns(1, [&](std::size_t) { extra = frames_by_compiler(); }); };
  at_depth(0, probe);
  at_depth(depth - extra, [&] {
    std::size_t const calls = g_short ? 1000 : 200'000;
    Recording recording;
    print(name("event_with_stack"), best_ns(calls, [&](std::size_t i) { recording.event(i); }));
    print(name("stack"), best_ns(calls, [&](std::size_t) { recording.stacks.here(recording.names); }));
    if (libunwind != nullptr)
      print(name("libunwind"), best_ns(calls, [&](std::size_t) {
              void* frames[200];
              libunwind(frames, 200);
            }));
    print(name("compilers_unwinder"), best_ns(calls / 50, [&](std::size_t) { frames_by_compiler(); }));
  });
}

// Pairs of push and pop over the layers of a network.
double marks_ns(auto push, auto pop) {
  static std::vector<std::string> const layers = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 48; ++i) names.push_back("encoder.layer." + std::to_string(i));
    return names;
  }();
  std::size_t const pairs = g_short ? 1000 : 1'000'000;
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 15); ++round)
    best = std::min(best, seconds_of([&] {
                            for (std::size_t i = 0; i < pairs; ++i) {
                              push(layers[i % layers.size()].c_str());
                              pop();
                            }
                          }) * 1e9 /
                              static_cast<double>(pairs));
  return best;
}

void print_marks(const std::string& when) {
  auto const push = [](const char* name) { nvtxRangePushA(name); };
  auto const pop = [] { nvtxRangePop(); };
  print("nvtx_push_pop_" + when + "_ns", marks_ns(push, pop));
  nvtxStringHandle_t const text = nvtxDomainRegisterStringA(nullptr, "attention");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = text;
  print("nvtx_registered_push_pop_" + when + "_ns", marks_ns([&](const char*) { nvtxRangePushEx(&event); }, pop));
  print("nvtx_operator_push_pop_" + when + "_ns", marks_ns([](const char*) { nvtxRangePushA("aten::addmm"); }, pop));
  print("nvtx_start_end_" + when + "_ns",
        marks_ns([](const char* name) { nvtxRangeEnd(nvtxRangeStartA(name)); }, [] {}));
  print("api_push_pop_" + when + "_ns",
        marks_ns([](const char* name) { tidemark_push(TIDEMARK_LAYER, name); }, [] { tidemark_pop(TIDEMARK_LAYER); }));
}

void marks() {
  unsetenv("NVTX_INJECTION64_PATH");  // so that the tool in this program is taken
  // A library that knows no tool.
  void* const library = dlopen(BENCH_SCOPE_MODULE, RTLD_NOW);
  auto const push = reinterpret_cast<int (*)(const char*)>(dlsym(library, "module_push"));
  auto const pop = reinterpret_cast<int (*)()>(dlsym(library, "module_pop"));
  print("nvtx_push_pop_without_tool_ns", marks_ns(push, pop));
  print_marks("before_trace");
  std::string const path = g_folder + "/bench_scope-marks-" + std::to_string(getpid()) + ".tide";
  setenv("TIDEMARK_OUT", path.c_str(), 1);
  setenv("TIDEMARK_SUMMARY", "0", 1);
  if (!interpose::start_recording()) std::exit(1);
  unlink(path.c_str());
  print_marks("recorded");
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--short") == 0) g_short = true;
    if (std::strcmp(arguments[i], "--folder") == 0 && i + 1 < count) g_folder = arguments[++i];
  }
  utsname machine{};
  uname(&machine);
  std::printf("{\"bench\": \"scope\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  for (int const depth : {10, 30}) stacks_at(depth);
  marks();
  std::printf("}\n");
  return 0;
}
