// SPDX-License-Identifier: Apache-2.0
// usage: make_trace -o F.tide [--events N] [--layers N] [--threads N] [--leak] [--unmarked]
// Writes a trace as a training run leaves it, of any length: parameters and optimizer state, then steps of forward,
// backward and optimizer over layers of a transformer's shape. What readers, reports and the viewer are measured with.
//
// Addresses come from lists of free blocks by size, so that they are used again as an allocator's are and live blocks
// never overlap. The same arguments give the same blocks; only the clock's stamps differ.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trace/write/dictionary.h"
#include "trace/write/lane.h"

namespace {

using namespace tidemark::trace;

struct Arguments {
  std::string path;
  std::uint64_t events = 1'000'000;
  std::uint32_t layers = 48;
  std::uint32_t threads = 1;
  bool leak = false;      // a block of 64 KiB stays behind in each step
  bool unmarked = false;  // no layers, phases, steps and kinds
};

[[noreturn]] void usage(const char* what) {
  std::fprintf(stderr,
               "error: make_trace: %s\nhint: make_trace -o F.tide [--events N] [--layers N] [--threads N] [--leak] "
               "[--unmarked]\n",
               what);
  std::exit(2);
}

Arguments parse(int count, char** words) {
  Arguments a;
  auto const number = [&](int i) {
    if (i >= count) usage("a number is missing");
    char* end = nullptr;
    std::uint64_t const n = std::strtoull(words[i], &end, 10);
    if (*end != 0 || n == 0) usage(words[i]);
    return n;
  };
  for (int i = 1; i < count; ++i) {
    std::string_view const word = words[i];
    if (word == "-o" && i + 1 < count)
      a.path = words[++i];
    else if (word == "--events")
      a.events = number(++i);
    else if (word == "--layers")
      a.layers = static_cast<std::uint32_t>(number(++i));
    else if (word == "--threads")
      a.threads = static_cast<std::uint32_t>(number(++i));
    else if (word == "--leak")
      a.leak = true;
    else if (word == "--unmarked")
      a.unmarked = true;
    else
      usage(words[i]);
  }
  if (a.path.empty()) usage("-o is missing");
  return a;
}

// One thread's training of a model of its own.
class Trainer {
 public:
  Trainer(const Arguments& a, File& file, Dictionary& names, std::uint32_t thread)
      : a_(a), next_address_(0x7f0000000000 + (std::uint64_t{thread} << 40)) {
    std::string const rank = a.threads > 1 ? "rank" + std::to_string(thread) + "." : "";
    for (std::uint32_t i = 0; i < a.layers; ++i) {
      std::uint32_t const block = names.path(0, rank + "layer." + std::to_string(i));
      layers_.push_back({.attention = names.path(block, "attn"), .mlp = names.path(block, "mlp")});
    }
    lane_.start(file, thread);
  }

  void run(std::uint64_t events) {
    set_up();
    for (std::uint64_t step = 0; events_ < events; ++step) train(step);
  }

 private:
  struct Held {
    Block block;
    Kind kind;
  };
  struct Layer {
    std::uint32_t attention, mlp;
    std::vector<Held> kept, gradients, temporaries;
  };

  void set_up() {
    mark_phase(Phase::Setup);
    for (Layer& layer : layers_) {
      enter(layer.attention);
      for (std::uint64_t const bytes : {kWidth * kWidth * 12, kWidth * kWidth * 4}) allocate(bytes, Kind::Parameter);
      enter(layer.mlp);
      for (int i = 0; i < 2; ++i) allocate(kWidth * kWidth * 16, Kind::Parameter);
    }
    leave();
  }

  void train(std::uint64_t step) {
    if (!a_.unmarked) lane_.step(step);
    mark_phase(Phase::Forward);
    for (Layer& layer : layers_) forward(layer);
    if (a_.leak) allocate(64 << 10, Kind::Other);
    mark_phase(Phase::Backward);
    for (std::size_t i = layers_.size(); i-- > 0;) backward(layers_[i]);
    mark_phase(Phase::Optimizer);
    for (Layer& layer : layers_) update(layer, step);
    leave();
  }

  void forward(Layer& layer) {
    enter(layer.attention);
    layer.kept.push_back(allocate(kTokens * kWidth * 12, Kind::Activation));
    Held const scores = allocate(kTokens * kTokens * kHeads, Kind::Temporary);
    layer.kept.push_back(allocate(kTokens * kTokens * kHeads, Kind::Activation));
    release(scores);
    layer.kept.push_back(allocate(kTokens * kWidth * 4, Kind::Activation));
    enter(layer.mlp);
    layer.kept.push_back(allocate(kTokens * kWidth * 16, Kind::Activation));
    Held const sums = allocate(kTokens * 8, Kind::Workspace);
    layer.kept.push_back(allocate(kTokens * kWidth * 16, Kind::Activation));
    release(sums);
    layer.kept.push_back(allocate(kTokens * kWidth * 4, Kind::Activation));
  }

  void backward(Layer& layer) {
    enter(layer.mlp);
    Held flow = allocate(kTokens * kWidth * 16, Kind::Gradient);
    for (int i = 0; i < 2; ++i) layer.gradients.push_back(allocate(kWidth * kWidth * 16, Kind::Gradient));
    for (int i = 0; i < 3; ++i) drop(layer.kept);
    release(flow);
    enter(layer.attention);
    flow = allocate(kTokens * kWidth * 12, Kind::Gradient);
    layer.gradients.push_back(allocate(kWidth * kWidth * 12, Kind::Gradient));
    layer.gradients.push_back(allocate(kWidth * kWidth * 4, Kind::Gradient));
    while (!layer.kept.empty()) drop(layer.kept);
    release(flow);
  }

  void update(Layer& layer, std::uint64_t step) {
    enter(layer.mlp);
    if (step == 0)  // states come with the first update
      for (Held const& g : layer.gradients)
        for (int i = 0; i < 2; ++i) allocate(g.block.size_bytes, Kind::Optimizer);
    Held const temporary = allocate(kWidth * kWidth * 16, Kind::Temporary);
    while (!layer.gradients.empty()) drop(layer.gradients);
    release(temporary);
  }

  Held allocate(std::uint64_t bytes, Kind kind) {
    std::vector<Block>& list = free_[bytes];
    Block block{.address = next_address_, .size_bytes = bytes};
    if (list.empty()) {
      next_address_ += (bytes + 511) / 512 * 512;
    } else {
      block = list.back();
      list.pop_back();
    }
    block.generation = block.generation == 255 ? 1 : static_cast<std::uint8_t>(block.generation + 1);
    lane_.alloc(block);
    if (!a_.unmarked) lane_.label(block.address, kind, 0);
    ++events_;
    return {.block = block, .kind = kind};
  }
  void release(const Held& held) {
    lane_.free(held.block);
    free_[held.block.size_bytes].push_back(held.block);
    ++events_;
  }
  void drop(std::vector<Held>& from) {
    release(from.back());
    from.pop_back();
  }

  void enter(std::uint32_t path) {
    if (!a_.unmarked) lane_.enter(path);
  }
  void leave() {
    if (!a_.unmarked) lane_.leave(0);
  }
  void mark_phase(Phase phase) {
    if (!a_.unmarked) lane_.phase(phase);
  }

  static constexpr std::uint64_t kWidth = 1024, kTokens = 1024, kHeads = 16;
  const Arguments& a_;
  Lane lane_;
  std::vector<Layer> layers_;
  std::map<std::uint64_t, std::vector<Block>> free_;
  std::uint64_t next_address_;
  std::uint64_t events_ = 0;
};

}  // namespace

int main(int count, char** words) {
  Arguments const a = parse(count, words);
  File& file = *new File;  // mapped until the end
  if (auto const made = file.create({.path = a.path, .mode = Mode::Cache}); !made.ok()) {
    std::fprintf(stderr, "error: %s\nhint: %s\n", made.error().what.c_str(), made.error().hint.c_str());
    return 1;
  }
  auto* const names = new Dictionary;
  if (!names->start(file)) return 1;
  names->fact("command", R"(["make_trace"])");
  std::vector<std::thread> running;
  for (std::uint32_t t = 1; t <= a.threads; ++t)
    running.emplace_back([&, t] { Trainer(a, file, *names, t).run(a.events / a.threads); });
  for (auto& t : running) t.join();
  file.close(FileState::Closed);
  return 0;
}
