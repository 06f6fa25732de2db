// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_traces.h"

#include <algorithm>
#include <string>

namespace tidemark::trace {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kBase = 0x7f0000000000;

void describe(TraceMaker& t, std::string_view command, std::string_view card, std::uint64_t total_bytes) {
  t.fact("program.command", command);
  t.fact("tidemark.version", "0.1.0");
  t.fact("device.count", "1");
  t.fact("device.0.name", card);
  t.fact("device.0.total_bytes", std::to_string(total_bytes));
  t.fact("device.0.software", "1");
  t.fact("device.0.dry_run", "0");
  t.fact("device.0.baseline_bytes", std::to_string(300 * kMiB));
  t.fact("device.0.context_bytes", std::to_string(260 * kMiB));
}

// A program with one clock and one thread, that takes memory from a stack of addresses.
class Program {
 public:
  explicit Program(TraceMaker& t, std::uint64_t pace) : t_(t), pace_(pace) {}

  void phase(Phase p) { t_.phase(1, tick(), p); }
  void step(std::uint64_t n) { t_.step(1, tick(), n); }
  void enter(std::uint32_t path) { t_.scope(1, tick(), path); }
  MadeBlock take(std::uint64_t bytes, Kind kind, std::string_view name = {}, std::uint8_t generation = 1) {
    MadeBlock const b{.address = next_, .size_bytes = bytes, .generation = generation};
    next_ += (bytes + 2 * kMiB) / 512 * 512;
    t_.alloc(1, tick(), b);
    if (kind != Kind::Other) t_.label(1, tick(), b.address, kind, name.empty() ? 0 : t_.string(name));
    live_ += bytes;
    if (live_ > given_) {
      given_ = (live_ / (32 * kMiB) + 1) * 32 * kMiB;
      t_.device_use(1, tick(), {.used_bytes = given_ + 300 * kMiB, .total_bytes = 11000 * kMiB});
    }
    return b;
  }
  void give(const MadeBlock& b) {
    t_.free(1, tick(), b);
    live_ -= b.size_bytes;
  }
  std::uint64_t tick() { return now_ += pace_; }

 private:
  TraceMaker& t_;
  std::uint64_t pace_, now_ = 1'000'000, next_ = kBase, live_ = 0, given_ = 0;
};

struct Net {
  std::vector<std::uint32_t> layers;
  std::vector<std::uint64_t> weights, outputs;
};

TraceMaker training() {
  TraceMaker t;
  t.header().mode = Mode::Cache;
  describe(t, R"(["./train","--model","vgg","--batch","64"])", "NVIDIA GeForce RTX 2080 Ti", 11019 * kMiB);
  Net net;
  std::uint32_t const features = t.path("features"), classifier = t.path("classifier");
  for (std::uint64_t i = 0; i < 12; ++i) {
    net.layers.push_back(t.path("conv" + std::to_string(i + 1), features));
    net.weights.push_back((i + 1) * 1'179'648 + 1000);
    net.outputs.push_back((420 * kMiB >> i / 3) + 77);
  }
  for (int i = 0; i < 3; ++i) {
    net.layers.push_back(t.path("fc" + std::to_string(i + 1), classifier));
    net.weights.push_back(i == 0 ? 392 * kMiB : (64 * kMiB >> i));
    net.outputs.push_back(kMiB + 12);
  }
  Program p(t, 40'000);
  p.phase(Phase::Setup);
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    p.enter(net.layers[i]);
    p.take(net.weights[i], Kind::Parameter, "weight");
  }
  p.enter(0);
  std::vector<MadeBlock> moments;
  for (std::uint64_t step = 0; step < 5; ++step) {
    p.step(step);
    p.phase(Phase::Forward);
    MadeBlock const input = p.take(38 * kMiB, Kind::Input, "images");
    std::vector<MadeBlock> kept, grads;
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
      p.enter(net.layers[i]);
      MadeBlock const scratch = p.take(24 * kMiB, Kind::Workspace);
      kept.push_back(p.take(net.outputs[i], Kind::Activation, "output"));
      p.give(scratch);
    }
    p.phase(Phase::Backward);
    for (std::size_t i = net.layers.size(); i-- > 0;) {
      p.enter(net.layers[i]);
      MadeBlock const temporary = p.take(net.outputs[i], Kind::Temporary, "grad output");
      grads.push_back(p.take(net.weights[i], Kind::Gradient, "weight grad"));
      p.give(temporary);
      p.give(kept[i]);
    }
    p.phase(Phase::Optimizer);
    p.enter(0);
    if (step == 0)
      for (std::size_t i = 0; i < net.layers.size(); ++i) {
        p.enter(net.layers[i]);
        moments.push_back(p.take(2 * net.weights[i], Kind::Optimizer, "moments"));
      }
    p.enter(0);
    for (MadeBlock const& g : grads) p.give(g);
    p.give(input);
  }
  p.tick();
  return t;
}

TraceMaker unmarked() {
  TraceMaker t;
  t.header().mode = Mode::Observe;
  t.header().state = FileState::Open;
  t.header().exit_status = 9;  // SIGKILL
  t.header().lost[static_cast<std::size_t>(Loss::NoSpace)] = 1200;
  t.header().lost[static_cast<std::size_t>(Loss::Reentered)] = 3;
  t.fact("program.command", R"(["/opt/app/solver","--grid","a b"])");
  Program p(t, 1'000'000);
  for (std::uint64_t i = 0; i < 40; ++i) {
    MadeBlock const b = p.take((i % 7 + 1) * kMiB, Kind::Other, {}, 0);
    if (i % 3 != 0) p.give(b);
  }
  t.alloc(1, p.tick(), {.address = 0x500000, .size_bytes = 64 * kMiB, .block_class = Class::Pinned});
  t.alloc(1, p.tick(), {.address = kBase - 512 * kMiB, .size_bytes = 256 * kMiB, .block_class = Class::Managed});
  t.free(1, p.tick(), {.address = 0x1234500});
  return t;
}

TraceMaker oom() {
  TraceMaker t;
  t.header().exit_status = 1 << 8;
  describe(t, R"(["python","train.py"])", "NVIDIA GeForce RTX 2080 Ti", 11019 * kMiB);
  std::uint32_t const head = t.path("decoder.head");
  Program p(t, 500'000);
  p.phase(Phase::Forward);
  p.step(17);
  p.enter(head);
  for (std::uint64_t i = 0; i < 30; ++i) p.take(320 * kMiB, Kind::Activation, "logits", 0);
  std::uint32_t const text = t.string(
      "fragmentation: 44.00 MiB were asked for, 410.12 MiB are cached and no piece of them is large enough\n"
      "  decoder.head  activation  9.38 GiB\n"
      "try: a smaller batch, or tidemark run --mode cache");
  t.failure(1, p.tick(), {.error = 2, .size_bytes = 44 * kMiB, .free_bytes = 32442941, .text = text});
  return t;
}

// A cache of 9.87 GiB whose free memory is in pieces, and an allocation that found none.
TraceMaker served() {
  TraceMaker t;
  t.header().mode = Mode::Cache;
  t.header().exit_status = 1 << 8;
  describe(t, R"(["./train"])", "NVIDIA GeForce RTX 2080 Ti", 11019 * kMiB);
  std::uint32_t const encoder = t.path("encoder.3"), embedding = t.path("embedding");
  std::uint64_t now = 1000;
  t.phase(1, now += 1000, Phase::Forward);
  t.step(1, now += 1000, 4);
  t.scope(1, now += 1000, embedding);
  t.alloc(1, now += 1000, {.address = kBase, .size_bytes = 9000 * kMiB, .generation = 1});
  t.device_use(1, now += 1000, {.used_bytes = 9300 * kMiB, .total_bytes = 11019 * kMiB, .process_bytes = 9000 * kMiB});
  t.cache_use(1, now += 1000,
              {.live_bytes = 9000 * kMiB, .requested_bytes = 8999 * kMiB, .reserved_bytes = 9000 * kMiB}, {});
  t.scope(1, now += 1000, encoder);
  std::uint32_t const scores = t.string("scores");
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::uint64_t const address = kBase + (9040 + i * 360) * kMiB;
    t.alloc(1, now += 1000, {.address = address, .size_bytes = 220 * kMiB, .generation = 1});
    t.label(1, now += 1000, address, Kind::Activation, scores);
  }
  t.device_use(1, now += 1000,
               {.used_bytes = 10407 * kMiB, .total_bytes = 11019 * kMiB, .process_bytes = 10107 * kMiB});
  t.cache_use(1, now += 1000,
              {.live_bytes = 9690 * kMiB,
               .requested_bytes = 9659 * kMiB,
               .reserved_bytes = 10107 * kMiB,
               .largest_hole_bytes = 140 * kMiB},
              {.plan_hits = 1800, .plan_misses = 200, .waits_avoided = 57, .given_back_bytes = 64 * kMiB});
  t.pin(1, now += 1000,
        {.address = kBase + 9400 * kMiB,
         .before_bytes = 140 * kMiB,
         .after_bytes = 140 * kMiB,
         .given_back_bytes = 220 * kMiB,
         .block_bytes = 220 * kMiB});
  t.pin(1, now += 1000,
        {.address = kBase + 4 * kMiB, .before_bytes = 2 * kMiB, .after_bytes = 0, .block_bytes = 1 * kMiB});
  t.failure(1, now += 1000, {.error = 2, .size_bytes = 444 * kMiB, .free_bytes = 300 * kMiB});
  return t;
}

TraceMaker framework() {
  TraceMaker t;
  describe(t, R"(["python","train.py"])", "NVIDIA A100-SXM4-80GB", 81153 * kMiB);
  std::uint32_t const linear = t.path("model.linear");
  std::uint64_t now = 1000;
  // Twenty segments of 20 MiB; in each two tensors, one of which dies. Beside them a workspace of a library.
  t.alloc(1, now += 1000, {.address = 0x600000000000, .size_bytes = 32 * kMiB});
  t.scope(1, now += 1000, linear);
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::uint64_t const segment = kBase + i * 32 * kMiB;
    t.alloc(1, now += 1000, {.address = segment, .size_bytes = 20 * kMiB});
    for (std::uint64_t k = 0; k < 2; ++k) {
      t.alloc(1, now += 1000,
              {.address = segment + k * 8 * kMiB, .size_bytes = 8 * kMiB, .block_class = Class::Tensor});
      t.label(1, now += 1000, segment + k * 8 * kMiB, k == 0 ? Kind::Parameter : Kind::Activation);
    }
  }
  for (std::uint64_t i = 0; i < 20; ++i)
    t.free(1, now += 1000, {.address = kBase + i * 32 * kMiB + 8 * kMiB, .block_class = Class::Tensor});
  return t;
}

// 80 000 steps of a second each, of which the last two are there. Weights and moments are from the beginning.
TraceMaker ringed() {
  constexpr std::uint64_t kSecond = 1'000'000'000, kSteps = 80'000, kGroup = 32'768;
  TraceMaker t;
  describe(t, R"(["./train","--steps","80000"])", "NVIDIA A100-SXM4-80GB", 81153 * kMiB);
  std::uint32_t const body = t.path("body"), head = t.path("head"), weight = t.string("weight");
  t.header().ring_bytes = 4 * kMiB;
  t.header().ring = {.base = 7, .sums = 3, .step = kSteps - 1, .step_begin_ticks = kSteps * kSecond};
  t.header().ring.step_peak_live_bytes = 2400 * kMiB;
  t.header().totals.live_bytes = 2000 * kMiB;
  t.header().totals.peak_live_bytes = 3000 * kMiB;
  t.header().totals.peak_reserved_bytes = 3200 * kMiB;
  std::uint64_t const begin = (kSteps - 2) * kSecond + kSecond / 2;
  std::vector<Live> blocks;
  for (std::uint32_t const path : {body, head})
    for (Kind const kind : {Kind::Parameter, Kind::Optimizer})
      blocks.push_back({.phase = static_cast<std::uint64_t>(Phase::Setup),
                        .kind = static_cast<std::uint64_t>(kind),
                        .address = kBase + blocks.size() * 1024 * kMiB,
                        .size_bytes = 500 * kMiB,
                        .ticks = (blocks.size() + 1) * 1000,
                        .step = kNoStep,
                        .path = path,
                        .name = weight});
  t.checkpoint({.number = 7, .begin_ticks = begin, .end_ticks = begin + 1000, .step = kSteps - 3}, blocks);
  std::vector<Sum> sums;
  for (Live const& b : blocks)
    sums.push_back({.phase = b.phase,
                    .kind = b.kind,
                    .path = b.path,
                    .step = kNoStep,
                    .allocations = 1,
                    .requested_bytes = b.size_bytes,
                    .live_bytes = b.size_bytes});
  std::vector<StepSum> steps;
  for (std::uint64_t first = 0; first < kSteps - 2; first += kGroup) {
    std::uint64_t const last = std::min(first + kGroup, kSteps - 2) - 1, count = last - first + 1;
    for (std::uint32_t const path : {body, head})
      sums.push_back({.phase = static_cast<std::uint64_t>(Phase::Forward),
                      .kind = static_cast<std::uint64_t>(Kind::Activation),
                      .width = 15,
                      .path = path,
                      .step = first,
                      .allocations = count,
                      .requested_bytes = count * 200 * kMiB,
                      .live_bytes = count * 200 * kMiB});
    steps.push_back({.width = 15,
                     .first = first,
                     .last = last,
                     .begin_ticks = (first + 1) * kSecond,
                     .end_ticks = (last + 2) * kSecond,
                     .peak_live_bytes = (first == 0 ? 3000 : 2400) * kMiB,
                     .end_live_bytes = 2000 * kMiB,
                     .allocations = 2 * count,
                     .frees = 2 * count,
                     .requested_bytes = count * 400 * kMiB,
                     .live_bytes = count * 400 * kMiB});
  }
  t.sums(3, sums, steps);
  std::uint64_t now = begin + 2000;
  for (std::uint64_t step = kSteps - 2; step < kSteps; ++step) {
    t.step(1, now = (step + 1) * kSecond, step);
    t.phase(1, now += 1000, Phase::Forward);
    std::uint64_t address = kBase + 8192 * kMiB;
    for (std::uint32_t const path : {body, head}) {
      t.scope(1, now += 1000, path);
      t.alloc(1, now += 1000, {.address = address, .size_bytes = 200 * kMiB});
      t.relabel(1, now += 1000,
                {.kind = static_cast<std::uint64_t>(Kind::Activation),
                 .address = address,
                 .size_bytes = 200 * kMiB,
                 .path = path,
                 .step = step,
                 .phase = static_cast<std::uint64_t>(Phase::Forward)});
      address += 1024 * kMiB;
    }
    for (std::uint64_t const back : {1, 2}) t.free(1, now += 1000, {.address = address - back * 1024 * kMiB});
  }
  return t;
}

}  // namespace

const std::vector<Sample>& samples() {
  static const std::vector<Sample> kSamples{{"training", training}, {"unmarked", unmarked},   {"oom", oom},
                                            {"served", served},     {"framework", framework}, {"ringed", ringed}};
  return kSamples;
}

}  // namespace tidemark::trace
