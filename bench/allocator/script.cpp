// SPDX-License-Identifier: Apache-2.0
#include "bench/allocator/script.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>

#include "allocator/core/plan/recorder.h"
#include "analysis/replay/lifetimes.h"
#include "base/bytes.h"

namespace tidemark::bench {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr unsigned kCompute = 0;
constexpr unsigned kGather = 1;

// Writes a script as a program would read.
class Writer {
 public:
  Writer(std::string name, std::string what) { script_ = {.name = std::move(name), .what = std::move(what)}; }

  std::uint32_t allocate(std::uint64_t bytes, unsigned stream = kCompute) {
    return taken(Step::What::Allocate, bytes, stream);
  }
  std::uint32_t foreign(std::uint64_t bytes) { return taken(Step::What::Foreign, bytes, 0); }
  void free(std::uint32_t block) { given(Step::What::Free, block); }
  void foreign_free(std::uint32_t block) { given(Step::What::ForeignFree, block); }
  void use(std::uint32_t block, unsigned stream) {
    add({.what = Step::What::Use, .stream = static_cast<std::uint8_t>(stream), .block = block});
  }
  void order(unsigned earlier, unsigned later) {
    add({.what = Step::What::Order,
         .stream = static_cast<std::uint8_t>(later),
         .other = static_cast<std::uint8_t>(earlier)});
  }
  void synchronize() { add({.what = Step::What::Synchronize}); }
  void round() { add({.what = Step::What::Round}); }
  void temporary(std::uint64_t bytes) { free(allocate(bytes)); }

  Script take(unsigned streams = 1, std::string schedule = "eager") {
    script_.streams = streams;
    script_.schedule = std::move(schedule);
    return std::move(script_);
  }

 private:
  std::uint32_t taken(Step::What what, std::uint64_t bytes, unsigned stream) {
    auto const block = static_cast<std::uint32_t>(bytes_.size());
    bytes_.push_back(round_up(bytes, 512));
    live_ += bytes_.back();
    script_.peak_live_bytes = std::max(script_.peak_live_bytes, live_);
    add({.what = what, .stream = static_cast<std::uint8_t>(stream), .block = block, .bytes = bytes});
    return block;
  }
  void given(Step::What what, std::uint32_t block) {
    live_ -= bytes_[block];
    add({.what = what, .block = block});
  }
  void add(const Step& step) { script_.steps.push_back(step); }

  Script script_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t live_ = 0;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  std::exit(1);
}

// How many allocations make an iteration; 0: none repeats. What is much shorter than the run is a loop within one.
std::size_t period_of(const analysis::Lifetimes& lifetimes) {
  plan::Recorder recorder;
  std::vector<std::uint64_t> numbers(lifetimes.bytes.size());
  for (auto const& operation : lifetimes.operations)
    if (operation.free)
      recorder.on_free(numbers[operation.block]);
    else
      numbers[operation.block] = recorder.on_alloc({.size_bytes = lifetimes.bytes[operation.block]});
  std::size_t const period = recorder.ready() ? recorder.take(512).events.size() : 0;
  return 5 * period >= lifetimes.bytes.size() ? period : 0;
}

// The training loop that a recorded run shows the beginning of: as recorded up to some allocation, then the iteration
// that begins there again and again. Its n-th allocation is the n + period-th one round later, and so are the frees.
struct Loop {
  std::vector<analysis::Lifetimes::Operation> before, iteration;

  Loop(const analysis::Lifetimes& lifetimes, std::size_t period, std::size_t begin) {
    for (auto const& operation : lifetimes.operations) {
      if (!operation.free && operation.block == begin + period) return;
      bool const started = !iteration.empty() || (!operation.free && operation.block == begin);
      (started ? iteration : before).push_back(operation);
    }
  }
  // Whether it could go on like this for ever: what it frees is live.
  bool is_sound(std::size_t period) const {
    std::vector<bool> live;
    auto const take = [&](const analysis::Lifetimes::Operation& operation, std::size_t shift) {
      if (!operation.free) return live.push_back(true), true;
      std::size_t const block = operation.block + shift;
      if (block >= live.size() || !live[block]) return false;
      live[block] = false;
      return true;
    };
    for (auto const& operation : before)
      if (!take(operation, 0)) return false;
    auto const alive = [&] { return std::count(live.begin(), live.end(), true); };
    auto const at_first = alive();
    for (std::size_t round = 0; round < 3; ++round)
      for (auto const& operation : iteration)
        if (!take(operation, round * period)) return false;
    return alive() == at_first;
  }
};

// The one that begins with the fewest bytes live: where a step ends.
std::optional<Loop> loop_of(const analysis::Lifetimes& lifetimes, std::size_t period) {
  std::vector<std::pair<std::uint64_t, std::size_t>> cuts;  // live bytes, allocation
  std::uint64_t live = 0;
  for (auto const& operation : lifetimes.operations) {
    std::uint64_t const bytes = lifetimes.bytes[operation.block];
    if (!operation.free && operation.block + period < lifetimes.bytes.size()) cuts.emplace_back(live, operation.block);
    live += operation.free ? 0 - bytes : bytes;
  }
  std::sort(cuts.begin(), cuts.end());
  for (auto const& [bytes, begin] : cuts)
    if (Loop loop(lifetimes, period, begin); loop.is_sound(period)) return loop;
  return std::nullopt;
}

Script script_of(const std::string& name, const analysis::Lifetimes& lifetimes, const Loop& loop, std::size_t rounds) {
  Writer w(name + " loop", "the recorded run's iteration, " + std::to_string(rounds) + " times");
  std::vector<std::uint32_t> blocks;
  std::size_t shift = 0;
  auto const take = [&](const analysis::Lifetimes::Operation& operation) {
    if (operation.free)
      w.free(blocks[operation.block + shift]);
    else
      blocks.push_back(w.allocate(lifetimes.bytes[operation.block]));
  };
  for (auto const& operation : loop.before) take(operation);
  std::size_t const begin = blocks.size();
  for (std::size_t round = 0; round < rounds; ++round) {
    shift = blocks.size() - begin;
    for (auto const& operation : loop.iteration) take(operation);
    w.round();
  }
  Script script = w.take();
  script.loops = true;
  return script;
}

// A run that PyTorch recorded: once, fifty times from its beginning, and its loop.
void add_snapshot(const std::filesystem::path& path, std::vector<Script>& scripts) {
  auto const lifetimes = analysis::read_lifetimes(path.string());
  if (!lifetimes.ok()) stop(lifetimes.error().what);
  std::string const name = path.stem().stem().string();
  Script script{.name = name + " x1", .what = "recorded run", .peak_live_bytes = lifetimes->peak_live_bytes()};
  for (auto const& operation : lifetimes->operations)
    script.steps.push_back({.what = operation.free ? Step::What::Free : Step::What::Allocate,
                            .block = operation.block,
                            .bytes = lifetimes->bytes[operation.block]});
  scripts.push_back(script);
  script.name = name + " x50";
  script.repeat = 50;
  scripts.push_back(std::move(script));
  if (std::size_t const period = period_of(*lifetimes); period != 0)
    if (auto const loop = loop_of(*lifetimes, period)) scripts.push_back(script_of(name, *lifetimes, *loop, 50));
}

std::vector<std::uint64_t> read_lengths(const std::string& path) {
  gzFile const file = gzopen(path.c_str(), "rb");
  if (file == nullptr) stop(path + ": cannot be opened");
  std::vector<std::uint64_t> lengths;
  char line[256];
  while (gzgets(file, line, sizeof line) != nullptr) {
    unsigned long long context = 0, generated = 0;
    const char* const comma = std::char_traits<char>::find(line, std::char_traits<char>::length(line), ',');
    if (comma != nullptr && std::sscanf(comma, ",%llu,%llu", &context, &generated) == 2)
      lengths.push_back(context + generated);
  }
  gzclose(file);
  if (lengths.empty()) stop(path + ": no lengths in it");
  return lengths;
}

// About the same spread as a recorded conversation's: median 1000, some ten times that.
std::vector<std::uint64_t> drawn_lengths(std::size_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> spread(std::log(1000.0), 0.9);
  std::vector<std::uint64_t> lengths(count);
  for (std::uint64_t& n : lengths) n = 16 + static_cast<std::uint64_t>(std::min(8000.0, std::exp(spread(random))));
  return lengths;
}

// A transformer of 24 layers, 1024 wide, in half precision, trained on batches of four sequences as long as they come.
Script variable_lengths(const std::string& source, const std::vector<std::uint64_t>& lengths, std::size_t steps) {
  constexpr int kLayers = 24;
  constexpr std::uint64_t kWidth = 1024;
  Writer w("variable lengths " + source, "training steps of as many tokens as come");
  for (int i = 0; i < 4 * kLayers; ++i) w.allocate(3 * kWidth * kWidth * 2);  // parameters stay
  for (std::size_t step = 0; step < steps; ++step) {
    std::uint64_t tokens = 0;
    for (std::size_t i = 0; i < 4; ++i)
      tokens += std::min<std::uint64_t>(8192, lengths[(4 * step + i) % lengths.size()]);
    std::uint64_t const row = tokens * kWidth * 2;
    std::vector<std::uint32_t> kept, gradients;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (std::uint64_t const bytes : {tokens * 4, 3 * row, row, 4 * row, row}) kept.push_back(w.allocate(bytes));
      w.temporary(row);
      w.temporary(tokens * 16 * 4);
    }
    for (int layer = 0; layer < kLayers; ++layer) {
      std::uint32_t const incoming = w.allocate(row);
      w.temporary(4 * row);
      w.temporary(3 * row);
      for (int i = 0; i < 4; ++i) gradients.push_back(w.allocate(3 * kWidth * kWidth * 2));
      for (int i = 0; i < 5; ++i) {
        w.free(kept.back());
        kept.pop_back();
      }
      w.free(incoming);
    }
    for (std::uint32_t const gradient : gradients) w.free(gradient);
  }
  return w.take();
}

// Parameters in shards: each layer's are gathered on a second stream one layer ahead, used by the first, and freed by a
// program that runs ahead of the device; gradients go back the same way.
Script gathered(const std::string& schedule, int steps) {
  constexpr int kLayers = 24;
  constexpr std::uint64_t kLayerBytes = 50 * kMiB;
  Writer w("gather, " + schedule, "sharded parameters on a second stream, the program ahead of the device");
  auto const gather = [&](std::uint64_t bytes) {
    std::uint32_t const block = w.allocate(bytes, kGather);
    w.use(block, kGather);
    return block;
  };
  for (int step = 0; step < steps; ++step) {
    std::vector<std::uint32_t> kept;
    for (bool const backward : {false, true}) {
      std::uint32_t next = gather(kLayerBytes);
      for (int layer = 0; layer < kLayers; ++layer) {
        std::uint32_t const now = next;
        w.order(kGather, kCompute);
        if (layer + 1 < kLayers) next = gather(kLayerBytes + (layer % 3 == 0 ? 7 * kMiB : 0));
        std::uint32_t const temporary = w.allocate(24 * kMiB);
        w.use(now, kCompute);
        if (!backward) {
          kept.push_back(w.allocate((8 + 4 * (layer % 4)) * kMiB));
          w.use(kept.back(), kCompute);
        } else {
          std::uint32_t const gradient = w.allocate(kLayerBytes);
          w.use(gradient, kCompute);
          w.order(kCompute, kGather);
          w.use(gradient, kGather);
          w.free(gradient);
          w.free(kept.back());
          kept.pop_back();
        }
        w.free(temporary);
        w.free(now);
      }
    }
    w.synchronize();
  }
  return w.take(2, schedule);
}

// What people report. Each is smallest where nothing stands in the way of what is free.
std::vector<Script> complaints() {
  std::vector<Script> scripts;
  {
    Writer w("pinned segments", "one small block stays in each large range that was used once (pytorch #35901)");
    for (std::uint64_t i = 0; i < 8; ++i) {
      w.temporary((512 + 32 * i) * kMiB);
      w.allocate(12 * kMiB);
    }
    w.allocate(4096 * kMiB);
    scripts.push_back(w.take());
  }
  {
    Writer w("pending event", "the block that would fit waits for another stream (pytorch #189504)");
    std::uint32_t const whole = w.allocate(1024 * kMiB);
    w.use(whole, kCompute);
    w.free(whole);
    std::uint32_t const stays = w.allocate(512 * kMiB);
    std::uint32_t const goes = w.allocate(512 * kMiB);
    w.use(stays, kCompute);
    w.use(goes, kCompute);
    w.use(goes, kGather);
    w.free(goes);
    w.allocate(512 * kMiB);
    scripts.push_back(w.take(2, "late"));
  }
  {
    Writer w("another library", "another library needs memory that is only kept (slime #1086, miles #2199)");
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 32; ++i) blocks.push_back(w.allocate(64 * kMiB));
    for (std::uint32_t const block : blocks) w.free(block);
    w.foreign_free(w.foreign(1536 * kMiB));
    scripts.push_back(w.take());
  }
  {
    Writer w("small survivors", "every eighth of 4000 small blocks stays, then a large one comes");
    std::vector<std::uint32_t> blocks;
    for (int i = 0; i < 4000; ++i) blocks.push_back(w.allocate(300'000 + 1000 * (i % 16)));
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i % 8 != 0) w.free(blocks[i]);
    w.allocate(1000 * kMiB);
    scripts.push_back(w.take());
  }
  return scripts;
}

}  // namespace

std::vector<Script> all_scripts(const ScriptSources& sources) {
  std::vector<Script> scripts;
  std::vector<std::filesystem::path> paths;
  for (auto const& entry : std::filesystem::directory_iterator(sources.snapshots))
    if (entry.path().extension() == ".gz") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  if (sources.brief) paths.resize(std::min<std::size_t>(paths.size(), 1));
  for (auto const& path : paths) add_snapshot(path, scripts);
  std::size_t const steps = sources.brief ? 5 : 200;
  scripts.push_back(sources.lengths.empty() ? variable_lengths("(drawn)", drawn_lengths(4 * steps), steps)
                                            : variable_lengths("(recorded)", read_lengths(sources.lengths), steps));
  for (const char* const schedule : {"random:7", "late"}) scripts.push_back(gathered(schedule, sources.brief ? 2 : 20));
  for (Script& script : complaints()) scripts.push_back(std::move(script));
  return scripts;
}

}  // namespace tidemark::bench
