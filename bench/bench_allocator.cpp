// SPDX-License-Identifier: Apache-2.0
// usage: bench_allocator [--short]
// What does an allocation and its free cost, with one thread and with two, and how much is reserved for what is live?
// Over a driver that does nothing: bookkeeping only. Beside it, as the limit, mimalloc on ordinary memory. Prints JSON.
#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/core/allocator.h"
#include "tests/support/fake_upstream.h"
#include "trace/write/lane.h"

namespace {

using namespace tidemark;
using allocator::Allocator;
using allocator::DomainId;

bool g_short = false;

double seconds_of(auto f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Ours {
  tests::FakeUpstream driver{{.capacity_bytes = 64ull << 30}};
  std::unique_ptr<Allocator> allocator = Allocator::make(driver, {.capacity_bytes = 64ull << 30});
  std::uint64_t allocate(std::uint64_t bytes, DomainId domain) const {
    std::uint64_t address = 0;
    allocator->allocate({.bytes = bytes, .domain = domain}, &address);
    return address;
  }
  void free(std::uint64_t address, DomainId domain) const { allocator->free_in(address, domain); }
};

// Opened, not linked: linked, it would also replace the malloc of everything else in here.
struct Mimalloc {
  void* library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  void* (*take)(std::size_t) = nullptr;
  void (*drop)(void*) = nullptr;
  Mimalloc() {
    if (library == nullptr) return;
    take = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "mi_malloc"));
    drop = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
  }
  explicit operator bool() const { return take != nullptr && drop != nullptr; }
  std::uint64_t allocate(std::uint64_t bytes, DomainId) const { return reinterpret_cast<std::uint64_t>(take(bytes)); }
  void free(std::uint64_t address, DomainId) const { drop(reinterpret_cast<void*>(address)); }
};

std::size_t hot(auto& memory, DomainId domain, std::uint64_t bytes, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint64_t const a = memory.allocate(bytes, domain);
    memory.free(a, domain);
  }
  return pairs;
}

// 200 allocations of 20 sizes forward, each with half a temporary, freed in reverse: the shape of a training step.
std::size_t train(auto& memory, DomainId domain, std::size_t steps) {
  std::vector<std::uint64_t> live;
  std::size_t pairs = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < 200; ++i) {
      live.push_back(memory.allocate((1 + i % 20) * 200'000, domain));
      if (i % 2 == 0) {
        memory.free(memory.allocate((1 + i % 7) * 90'000, domain), domain);
        ++pairs;
      }
    }
    pairs += live.size();
    for (; !live.empty(); live.pop_back()) memory.free(live.back(), domain);
  }
  return pairs;
}

// Sizes from 1 KiB to 16 MiB, 256 live.
std::size_t random_sizes(auto& memory, DomainId domain, std::size_t pairs) {
  std::mt19937 random(1);
  std::vector<std::uint64_t> live(256);
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint64_t& slot = live[random() % live.size()];
    if (slot != 0) memory.free(slot, domain);
    slot = memory.allocate(1024 + random() % (1u << (10 + random() % 15)), domain);
  }
  for (std::uint64_t const a : live)
    if (a != 0) memory.free(a, domain);
  return pairs;
}

// What is reserved at the end for the most that was live at once.
struct Measured {
  Ours memory;
  std::map<std::uint64_t, std::uint64_t> sizes;
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  std::uint64_t allocate(std::uint64_t bytes, DomainId domain) {
    std::uint64_t const address = memory.allocate(bytes, domain);
    live += sizes[address] = round_up(bytes, allocator::kGranuleBytes);
    peak = std::max(peak, live);
    return address;
  }
  void free(std::uint64_t address, DomainId domain) {
    live -= sizes[address];
    memory.free(address, domain);
  }
  double ratio() const {
    return static_cast<double>(memory.allocator->statistics().reserved_bytes) / static_cast<double>(peak);
  }
};

// The best of several rounds: other work on the machine only ever adds time. Two threads: the slower one's time.
double ns_per_pair(unsigned threads, auto workload) {
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 25); ++round) {
    std::vector<double> each(threads);
    std::vector<std::thread> running;
    std::atomic<unsigned> ready{0};
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        workload(t, true);  // warm
        ++ready;
        while (ready < threads) {
        }
        std::size_t pairs = 0;
        double const seconds = seconds_of([&] { pairs = workload(t, false); });
        each[t] = seconds * 1e9 / static_cast<double>(pairs);
      });
    for (std::thread& t : running) t.join();
    best = std::min(best, *std::max_element(each.begin(), each.end()));
  }
  return best;
}

void print(const std::string& question, double value) {
  std::printf(",\n  \"%s\": %.3f", question.c_str(), value);
}

void compare(const std::string& who, auto& memory, auto domain_of) {
  std::size_t const n = g_short ? 2'000 : 1'000'000;
  for (unsigned threads = 1; threads <= 2; ++threads) {
    std::string const suffix = "_" + std::to_string(threads) + "_ns";
    auto const run = [&](const char* name, auto workload) {
      print(who + name + suffix, ns_per_pair(threads, workload));
    };
    run("_hot_1KiB", [&](unsigned t, bool warm) { return hot(memory, domain_of(t), 1024, warm ? 100 : n / 10); });
    run("_hot_4MiB", [&](unsigned t, bool warm) { return hot(memory, domain_of(t), 4 << 20, warm ? 100 : n / 10); });
    run("_train", [&](unsigned t, bool warm) { return train(memory, domain_of(t), warm ? 20 : n / 10000 + 1); });
    run("_random", [&](unsigned t, bool warm) { return random_sizes(memory, domain_of(t), warm ? 2000 : n / 20); });
  }
}

// As in a recorded program: each call leaves a record in the thread's chunk of a trace.
class Recorded {
 public:
  explicit Recorded(Ours& memory) : memory_(memory) {
    auto const made = file_.create({.path = path_, .clock = trace::Clock::pick()});
    if (!made.ok()) {
      std::fprintf(stderr, "bench_allocator: %s\n", made.error().what.c_str());
      std::exit(1);
    }
    for (unsigned t = 0; t < 2; ++t) lanes_[t].start(file_, t + 1);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() { unlink(path_.c_str()); }
  std::size_t hot(unsigned thread, std::uint64_t bytes, std::size_t pairs) {
    trace::Lane& lane = lanes_[thread];
    for (std::size_t i = 0; i < pairs; ++i) {
      std::uint64_t const a = memory_.allocate(bytes, DomainId::Shared);
      lane.alloc({.address = a, .size_bytes = bytes});
      lane.free({.address = a, .size_bytes = bytes});
      memory_.free(a, DomainId::Shared);
    }
    return pairs;
  }

 private:
  Ours& memory_;
  std::string path_ =
      std::filesystem::temp_directory_path() / ("bench_allocator-" + std::to_string(getpid()) + ".tide");
  trace::File& file_ = *new trace::File;  // mapped until the end
  std::array<trace::Lane, 2> lanes_;
};

void recorded() {
  Ours memory;
  Recorded trace(memory);
  for (unsigned threads = 1; threads <= 2; ++threads)
    print("recorded_hot_4MiB_" + std::to_string(threads) + "_ns", ns_per_pair(threads, [&](unsigned t, bool warm) {
            return trace.hot(t, 4 << 20, warm || g_short ? 100 : 50'000);
          }));
}

// A loop whose blocks overlap in time as a training's do, so that sizes alone do not lay it out: what a layer keeps is
// freed in reverse, gradients in the next iteration. With the plan that the allocator makes of it, and without.
void planned_loop(bool plan) {
  struct Step {
    std::uint64_t bytes;
    std::size_t lives;
  };
  constexpr std::size_t kLayers = 12;
  std::mt19937 random(1);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < kLayers; ++i) {
    steps.push_back({100'000 * (8 + random() % 60), 6 * kLayers - steps.size() - 2 * i});
    steps.push_back({100'000 * (1 + random() % 7) + 512 * i, 1 + random() % 3});
    steps.push_back({100'000 * (3 + random() % 20), 2});
  }
  for (std::size_t i = 0; i < kLayers; ++i) {
    steps.push_back({100'000 * (2 + random() % 9), 2});
    steps.push_back({100'000 * (4 + random() % 30) + 512 * i, 6 * kLayers - 3});
    steps.push_back({500'000, 1});
  }
  std::size_t const n = steps.size();
  std::vector<std::vector<std::size_t>> ends(n);  // of which blocks, before each step
  for (std::size_t i = 0; i < n; ++i) ends[(i + steps[i].lives) % n].push_back(i);
  tests::FakeUpstream driver({.capacity_bytes = 64ull << 30});
  auto const memory = Allocator::make(
      driver, {.capacity_bytes = 64ull << 30, .plan = plan, .plan_search_seconds = 0, .plan_in_foreground = true});
  DomainId const stream = memory->add_stream(allocator::StreamHandle{1});
  memory->before_submission(stream);
  memory->after_submission(stream);
  std::vector<std::uint64_t> blocks(n);
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  auto const run = [&](std::size_t iterations) {
    std::size_t pairs = 0;
    for (std::size_t t = 0; t < iterations; ++t)
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t const k : ends[i]) {
          if (blocks[k] == 0) continue;
          memory->free_in(blocks[k], stream);
          live -= round_up(steps[k].bytes, allocator::kGranuleBytes);
          blocks[k] = 0;
          ++pairs;
        }
        memory->allocate({.bytes = steps[i].bytes, .domain = stream}, &blocks[i]);
        peak = std::max(peak, live += round_up(steps[i].bytes, allocator::kGranuleBytes));
      }
    return pairs;
  };
  run(100);  // until it is found
  std::string const who = plan ? "loop_planned" : "loop_unplanned";
  print(who + "_ns", ns_per_pair(1, [&](unsigned, bool warm) { return run(warm ? 1 : g_short ? 10 : 300); }));
  auto const now = memory->statistics();
  print(who + "_reserved_per_live", static_cast<double>(now.reserved_bytes) / static_cast<double>(peak));
}

void ours(const std::string& who, bool two_streams) {
  Ours memory;
  DomainId streams[2] = {};
  for (DomainId& stream : streams) {
    stream = memory.allocator->add_stream(allocator::StreamHandle{1});
    if (two_streams || stream == streams[0]) {
      memory.allocator->before_submission(stream);
      memory.allocator->after_submission(stream);
    }
  }
  compare(who, memory, [&](unsigned t) { return streams[two_streams ? t : 0]; });
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (std::strcmp(arguments[i], "--short") == 0) g_short = true;
  utsname machine{};
  uname(&machine);
  std::printf("{\"bench\": \"allocator\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  Measured trained;
  train(trained, DomainId::Shared, g_short ? 2 : 100);
  print("train_reserved_per_live", trained.ratio());
  Measured mixed;
  random_sizes(mixed, DomainId::Shared, g_short ? 2000 : 100'000);
  print("random_reserved_per_live", mixed.ratio());
  ours("one_stream", false);
  ours("stream_each", true);
  planned_loop(false);
  planned_loop(true);
  recorded();
  if (Mimalloc mimalloc; mimalloc) compare("mimalloc", mimalloc, [](unsigned) { return DomainId::Shared; });
  std::printf("}\n");
  return 0;
}
