// SPDX-License-Identifier: Apache-2.0
// usage: bench_record [--short] [--folder DIR]
// What does one record cost, and how many bytes? A lane writing into a warm chunk and into a growing file, with one and
// two threads, beside what nothing can go below: reading the counter and one store, and clock_gettime. Prints JSON.
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace {

using namespace tidemark::trace;

bool g_short = false;
std::string g_folder = std::filesystem::temp_directory_path();

double seconds_of(auto f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The best of several rounds: other work on the machine only ever adds time.
double best_ns(std::size_t calls, auto f) {
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 15); ++round)
    best = std::min(best, seconds_of([&] {
                            for (std::size_t i = 0; i < calls; ++i) f(i);
                          }) * 1e9 /
                              static_cast<double>(calls));
  return best;
}

struct Scratch {
  std::string path = g_folder + "/bench_record-" + std::to_string(getpid()) + ".tide";
  File& file = *new File;  // mapped until the end
  explicit Scratch(Clock clock = Clock::pick()) {
    auto const made = file.create({.path = path, .clock = clock});
    if (!made.ok()) {
      std::fprintf(stderr, "bench_record: %s\n", made.error().what.c_str());
      std::exit(1);
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { unlink(path.c_str()); }
};

void write_events(Lane& lane, std::size_t i) {
  Block const block{.address = 0x7f0000000000 + (i << 9 & 0xffffff), .size_bytes = 4096};
  lane.alloc(block);
  lane.free(block);
}

// A chunk that is new, populated and in the cache: as many records as it holds, many times over.
double warm_ns(Clock clock) {
  Scratch scratch(clock);
  double best = 1e300;
  for (int round = 0; round < (g_short ? 5 : 400); ++round) {
    Lane lane;
    lane.start(scratch.file, 1);
    lane.alloc({.address = 256, .size_bytes = 1});  // takes the chunk
    std::size_t const pairs = (kChunkSlots - 8) / 2;
    best = std::min(best, seconds_of([&] {
                            for (std::size_t i = 0; i < pairs; ++i) write_events(lane, i);
                          }) * 1e9 /
                              static_cast<double>(2 * pairs));
  }
  return best;
}

double growing_ns(unsigned threads) {
  Scratch scratch;
  std::size_t const pairs = g_short ? 20'000 : 5'000'000;
  double const seconds = seconds_of([&] {
    std::vector<std::thread> running;
    for (unsigned t = 1; t <= threads; ++t)
      running.emplace_back([&, t] {
        Lane lane;
        lane.start(scratch.file, t);
        for (std::size_t i = 0; i < pairs; ++i) write_events(lane, i);
      });
    for (auto& t : running) t.join();
  });
  return seconds * 1e9 / static_cast<double>(2 * pairs);
}

// Layers as a trainer has them: four blocks each in and out, two of them temporary.
double bytes_per_event() {
  Scratch scratch;
  auto* const names = new Dictionary;
  if (!names->start(scratch.file)) std::exit(1);
  std::vector<std::uint32_t> layers(50);
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = names->path(0, "layer" + std::to_string(i));
  Lane lane;
  lane.start(scratch.file, 1);
  std::size_t events = 0;
  for (int step = 0; step < (g_short ? 20 : 2000); ++step) {
    lane.step(static_cast<std::uint64_t>(step));
    for (Phase const phase : {Phase::Forward, Phase::Backward}) {
      lane.phase(phase);
      for (std::uint32_t const layer : layers) {
        lane.enter(layer);
        for (std::size_t i = 0; i < 2; ++i) write_events(lane, i);
        events += 4;
        lane.leave(0);
      }
    }
  }
  scratch.file.close(FileState::Closed);
  return static_cast<double>(std::filesystem::file_size(scratch.path)) / static_cast<double>(events);
}

void print(const char* question, double value) {
  std::printf(",\n  \"%s\": %.2f", question, value);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--short") == 0) g_short = true;
    if (std::strcmp(arguments[i], "--folder") == 0 && i + 1 < count) g_folder = arguments[++i];
  }
  utsname machine{};
  uname(&machine);
  std::printf("{\"bench\": \"record\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  std::vector<std::uint64_t> store(1024);
  Clock const clock = Clock::pick();
  print("counter_and_store_ns",
        best_ns(1'000'000, [&](std::size_t i) { const_cast<volatile std::uint64_t&>(store[i % 1024]) = clock.now(); }));
  print("clock_gettime_ns", best_ns(1'000'000, [&](std::size_t i) {
          const_cast<volatile std::uint64_t&>(store[i % 1024]) = monotonic_now_ns();
        }));
  print("record_warm_ns", warm_ns(clock));
  print("record_warm_monotonic_ns", warm_ns(Clock::monotonic()));
  print("record_growing_ns", growing_ns(1));
  print("record_growing_2_threads_ns", growing_ns(2));
  print("file_bytes_per_event", bytes_per_event());
  std::printf("}\n");
  return 0;
}
