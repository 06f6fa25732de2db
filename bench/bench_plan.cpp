// SPDX-License-Identifier: Apache-2.0
// usage: bench_plan [--short] [--traces DIR] [--budget SECONDS] [--seeds N] [--only NAME]
// How low are the planner's layouts, and how long do they take? Generated instances, and with --traces (or the
// environment's TIDEMARK_ALLOCATOR_TRACES) public ones: minimalloc/ (A to E within 1 048 576, against minimalloc's 1.2
// to 13 s), idealloc/, and torch-snapshots/, whose iteration is found in the stream and laid out on a ring. Prints
// JSON: height over the largest sum alive at once, at once and after the search, and the cost of serving from a plan.
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unordered_map>

#include "allocator/core/plan/buffer_csv.h"
#include "allocator/core/plan/circular.h"
#include "allocator/core/plan/replay.h"

namespace {

using namespace tidemark::plan;

struct Settings {
  bool brief = false;
  std::string traces, only;
  double budget_seconds = 30;
  std::uint64_t seeds = 5;
} g;

double ratio(std::uint64_t height, std::uint64_t bound) {
  return bound == 0 ? 1 : static_cast<double>(height) / static_cast<double>(bound);
}

void row(const std::string& name, const std::string& rest) {
  std::printf(",\n  {\"instance\": \"%s\", %s}", name.c_str(), rest.c_str());
  std::fflush(stdout);
}

bool wanted(const std::string& name) {
  return g.only.empty() || name.find(g.only) != name.npos;
}

template <class... T>
std::string text(const char* format, T... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

std::vector<Buffer> buffers_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  auto const table = read_buffers(std::string{std::istreambuf_iterator<char>(file), {}});
  if (!table.ok()) {
    std::fprintf(stderr, "bench_plan: %s: %s\n", path.c_str(), table.error().what.c_str());
    std::exit(1);
  }
  return table->buffers;
}

// At once, and with the budget.
void lowest(const std::string& name, const std::vector<Buffer>& buffers, double budget_seconds) {
  if (!wanted(name)) return;
  auto const at_once = plan_layout(buffers, {});
  auto const best = plan_layout(buffers, {.budget_seconds = budget_seconds});
  if (!at_once.ok() || !best.ok()) std::exit(1);
  row(name,
      text("\"buffers\": %zu, \"ratio_at_once\": %.4f, \"seconds_at_once\": %.3f, \"ratio\": %.4f, \"least\": %s, "
           "\"seconds\": %.3f",
           buffers.size(), ratio(at_once->layout.height, at_once->bound), at_once->seconds,
           ratio(best->layout.height, best->bound), best->least ? "true" : "false", best->seconds));
}

// Within a capacity, for several seeds: luck shows.
void within(const std::string& name, const std::vector<Buffer>& buffers, std::uint64_t capacity) {
  if (!wanted(name)) return;
  std::string seconds;
  std::uint64_t solved = 0;
  for (std::uint64_t seed = 1; seed <= g.seeds; ++seed) {
    auto const plan = plan_layout(buffers, {.capacity = capacity, .budget_seconds = g.budget_seconds, .seed = seed});
    solved += plan.ok() ? 1 : 0;
    seconds += (seconds.empty() ? "" : ", ") + (plan.ok() ? text("%.3f", plan->seconds) : std::string("null"));
  }
  row(name, text("\"buffers\": %zu, \"capacity\": %llu, \"solved\": %llu, \"seconds_by_seed\": [%s]", buffers.size(),
                 static_cast<unsigned long long>(capacity), static_cast<unsigned long long>(solved), seconds.c_str()));
}

// Micro-batches through layers: activations that end in reverse order, temporaries, gradients until the step.
std::vector<Buffer> training(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> sizes(26);
  for (std::uint64_t& s : sizes) s = 512 * (std::uint64_t{1} << (random() % 17)) + 512 * (random() % 64);
  auto const size = [&] { return sizes[random() % sizes.size()]; };
  std::vector<Buffer> buffers;
  std::uint64_t now = 0;
  auto const add = [&](std::uint64_t lives) {
    buffers.push_back({.lower = now, .upper = now + lives, .size_bytes = size(), .alignment = 512});
    ++now;
    return buffers.size() - 1;
  };
  while (buffers.size() < count) {
    std::vector<std::size_t> kept, gradients;
    std::size_t const layers = 46 + random() % 5;
    for (std::size_t l = 0; l < layers; ++l) {
      for (int i = 0; i < 4; ++i) kept.push_back(add(1));
      for (int i = 0; i < 4; ++i) add(1 + random() % 6);
    }
    for (std::size_t l = 0; l < layers; ++l) {
      for (int i = 0; i < 5; ++i) add(1 + random() % 8);
      for (int i = 0; i < 4; ++i) {
        buffers[kept.back()].upper = ++now;
        kept.pop_back();
      }
      gradients.push_back(add(1));
    }
    for (std::size_t const gradient : gradients) buffers[gradient].upper = ++now;
  }
  buffers.resize(count);
  return buffers;
}

// Sizes and lifetimes over four powers of ten, without any structure.
std::vector<Buffer> structureless(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> length(0, 12), size(0, 15);
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const lower = random() % count;
    buffers.push_back({.lower = lower,
                       .upper = lower + static_cast<std::uint64_t>(std::exp2(length(random))),
                       .size_bytes = 512 * static_cast<std::uint64_t>(std::exp2(size(random))),
                       .alignment = 512});
  }
  return buffers;
}

struct Event {
  char what;
  std::uint64_t id, bytes;
};

// op,id,bytes,... in gzip.
std::vector<Event> snapshot(const std::string& path) {
  std::vector<Event> events;
  std::FILE* const pipe = popen(("gzip -cd '" + path + "'").c_str(), "r");
  if (pipe == nullptr) return events;
  char line[256];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    Event e{};
    unsigned long long id = 0, bytes = 0;
    if (std::sscanf(line, "%c,%llu,%llu", &e.what, &id, &bytes) != 3) continue;
    e.id = id;
    e.bytes = bytes;
    events.push_back(e);
  }
  pclose(pipe);
  return events;
}

void print_ring(const std::string& name, const Recorded& recorded, double budget_seconds) {
  auto const at_once = plan_circular(recorded.iteration, {});
  auto const best = plan_circular(recorded.iteration, {.budget_seconds = budget_seconds});
  if (!at_once.ok() || !best.ok()) std::exit(1);
  std::size_t roles[3] = {};
  for (Role const role : best->roles) ++roles[static_cast<std::size_t>(role)];
  row(name, text("\"period\": %zu, \"periods\": %u, \"persistent\": %zu, \"carry_over\": %zu, \"transient\": %zu, "
                 "\"bound_bytes\": %llu, \"ratio_at_once\": %.4f, \"seconds_at_once\": %.3f, \"ratio\": %.4f, "
                 "\"least\": %s, \"seconds\": %.3f",
                 recorded.events.size(), best->periods, roles[0], roles[1], roles[2],
                 static_cast<unsigned long long>(best->bound), ratio(at_once->height, at_once->bound), at_once->seconds,
                 ratio(best->height, best->bound), best->least ? "true" : "false", best->seconds));
}

// The iteration is found in the stream, as it would be in a running program. Whole windows as they are, too.
void torch(const std::string& path) {
  std::string const name = "ring " + std::filesystem::path(path).stem().stem().string();
  if (!wanted(name)) return;
  Recorder recorder;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers;
  for (Event const& e : snapshot(path)) {
    if (e.what == 'a') numbers[e.id] = recorder.on_alloc({.size_bytes = e.bytes});
    if (e.what == 'f' && numbers.contains(e.id)) recorder.on_free(numbers[e.id]);
  }
  if (!recorder.ready()) {
    row(name, "\"period\": null");
    return;
  }
  print_ring(name, recorder.take(512), g.budget_seconds);
}

void window(const std::string& path) {
  std::string const name = "window " + std::filesystem::path(path).stem().stem().string();
  if (!wanted(name)) return;
  std::unordered_map<std::uint64_t, std::size_t> alive;
  std::vector<Buffer> buffers;
  std::uint64_t now = 1;
  for (Event const& e : snapshot(path)) {
    if (e.what == 'a' || e.what == 'b') {
      alive[e.id] = buffers.size();
      buffers.push_back(
          {.lower = e.what == 'b' ? 0 : now, .upper = UINT64_MAX, .size_bytes = e.bytes, .alignment = 512});
    } else if (e.what == 'f' && alive.contains(e.id)) {
      buffers[alive[e.id]].upper = now;
    }
    ++now;
  }
  for (Buffer& b : buffers) b.upper = std::min(b.upper, now);
  for (Buffer& b : buffers) b.size_bytes = (b.size_bytes + 511) / 512 * 512;
  lowest(name, buffers, g.budget_seconds);
}

double recording_ns(const Recorded& recorded, std::size_t rounds) {
  Recorder recorder;
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t r = 0; r < rounds; ++r)
    for (AllocEvent const& e : recorded.events) recorder.on_free(recorder.on_alloc(e));
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

// A block from the plan and back, in a steady loop of allocations.
void serving() {
  if (!wanted("serving")) return;
  auto const buffers = training(3000);
  Recorded recorded;
  for (Buffer const& b : buffers) recorded.iteration.period = std::max(recorded.iteration.period, b.upper);
  for (Buffer const& b : buffers) {
    recorded.events.push_back({.size_bytes = b.size_bytes});
    recorded.iteration.blocks.push_back({.begin = b.lower, .end = b.upper, .size_bytes = b.size_bytes});
  }
  auto const layout = plan_circular(recorded.iteration, {});
  if (!layout.ok()) std::exit(1);
  Replay replay;
  replay.add(std::make_shared<ServingPlan>(recorded, *layout));
  std::size_t const rounds = g.brief ? 20 : 500;
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t r = 0; r < rounds; ++r)
    for (AllocEvent const& e : recorded.events)
      if (auto const offset = replay.place(e)) replay.release(*offset);
  double const ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  double const recording = recording_ns(recorded, rounds);
  double const pairs = static_cast<double>(rounds * buffers.size());
  row("serving", text("\"ns_per_pair\": %.1f, \"placed\": %.4f, \"recording_ns_per_pair\": %.1f", ns / pairs,
                      ratio(replay.counts().placed, rounds * buffers.size()), recording / pairs));
}

void public_ones() {
  namespace fs = std::filesystem;
  std::string const at = g.traces + "/";
  within("minimalloc toy", buffers_in(at + "minimalloc/input.12.csv"), 12);
  for (char const* const name : {"A", "B", "C", "D", "E"}) {
    auto const buffers = buffers_in(at + "minimalloc/" + name + ".1048576.csv");
    within(std::string("minimalloc ") + name, buffers, 1'048'576);
  }
  lowest("idealloc resnet50", buffers_in(at + "idealloc/somas_resnet50.csv"), g.budget_seconds);
  lowest("idealloc G_1", buffers_in(at + "idealloc/iopddl_G_1.csv"), g.budget_seconds);
  std::vector<std::string> snapshots;
  for (auto const& entry : fs::directory_iterator(at + "torch-snapshots"))
    if (entry.path().extension() == ".gz") snapshots.push_back(entry.path().string());
  std::sort(snapshots.begin(), snapshots.end());
  for (std::string const& path : snapshots) torch(path);
  for (std::string const& path : snapshots) window(path);
}

}  // namespace

int main(int count, char** arguments) {
  if (const char* const folder = std::getenv("TIDEMARK_ALLOCATOR_TRACES")) g.traces = folder;
  for (int i = 1; i < count; ++i) {
    std::string const word = arguments[i];
    if (word == "--short") g.brief = true;
    if (i + 1 >= count) break;
    if (word == "--traces") g.traces = arguments[++i];
    if (word == "--budget") g.budget_seconds = std::atof(arguments[++i]);
    if (word == "--seeds") g.seeds = std::strtoull(arguments[++i], nullptr, 10);
    if (word == "--only") g.only = arguments[++i];
  }
  utsname machine{};
  uname(&machine);
  std::printf("[{\"bench\": \"plan\", \"machine\": \"%s %s\"}", machine.sysname, machine.machine);
  serving();
  lowest("training 8k", training(g.brief ? 800 : 8'000), g.brief ? 0.1 : 10);
  std::uint64_t const draws = g.brief ? 1 : 3;
  for (std::uint64_t seed = 1; seed <= draws; ++seed)
    lowest("structureless 8k", structureless(g.brief ? 800 : 8'000, seed), g.brief ? 0.1 : 10);
  if (!g.brief) {
    lowest("training 60k", training(60'000), 10);
    for (std::uint64_t seed = 1; seed <= draws; ++seed) lowest("structureless 60k", structureless(60'000, seed), 10);
  }
  if (!g.traces.empty() && !g.brief) public_ones();
  std::printf("\n]\n");
}
