// SPDX-License-Identifier: Apache-2.0
// usage: bench_loop [--short]
// What does a plan bring to a loop whose blocks overlap in time as a training's do, so that sizes alone do not lay it
// out? Over a driver that does nothing; with the plan that the allocator makes of it, and without. Prints JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "allocator/core/allocator.h"
#include "tests/support/fake_upstream.h"

namespace {

using namespace tidemark;
using allocator::Allocator;
using allocator::DomainId;

struct Step {
  std::uint64_t bytes;
  std::size_t lives;  // steps until it is freed; some into the next iteration
};

// What a layer keeps is freed in reverse, gradients in the next iteration.
std::vector<Step> training_loop() {
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
  return steps;
}

class Loop {
 public:
  explicit Loop(bool plan)
      : memory_(Allocator::make(
            driver_,
            {.capacity_bytes = 64ull << 30, .plan = plan, .plan_search_seconds = 0, .plan_in_foreground = true})) {
    for (std::size_t i = 0; i < steps_.size(); ++i) ends_[(i + steps_[i].lives) % steps_.size()].push_back(i);
    stream_ = memory_->add_stream(allocator::StreamHandle{1});
    memory_->before_submission(stream_);
    memory_->after_submission(stream_);
  }

  // The pairs of allocation and free.
  std::size_t run(std::size_t iterations) {
    std::size_t pairs = 0;
    for (std::size_t t = 0; t < iterations; ++t)
      for (std::size_t i = 0; i < steps_.size(); ++i) pairs += step(i);
    return pairs;
  }
  double reserved_per_live() const {
    return static_cast<double>(memory_->statistics().reserved_bytes) / static_cast<double>(peak_);
  }

 private:
  std::size_t step(std::size_t i) {
    std::size_t pairs = 0;
    for (std::size_t const k : ends_[i]) {
      if (blocks_[k] == 0) continue;
      memory_->free_in(blocks_[k], stream_);
      live_ -= round_up(steps_[k].bytes, allocator::kGranuleBytes);
      blocks_[k] = 0;
      ++pairs;
    }
    memory_->allocate({.bytes = steps_[i].bytes, .domain = stream_}, &blocks_[i]);
    peak_ = std::max(peak_, live_ += round_up(steps_[i].bytes, allocator::kGranuleBytes));
    return pairs;
  }

  std::vector<Step> const steps_ = training_loop();
  std::vector<std::vector<std::size_t>> ends_{steps_.size()};  // of which blocks, before each step
  std::vector<std::uint64_t> blocks_ = std::vector<std::uint64_t>(steps_.size());
  tests::FakeUpstream driver_{{.capacity_bytes = 64ull << 30}};
  std::unique_ptr<Allocator> memory_;
  DomainId stream_{};
  std::uint64_t live_ = 0, peak_ = 0;
};

void measure(const char* who, bool plan, std::size_t rounds) {
  Loop loop(plan);
  loop.run(100);  // until it is found
  double best = 1e9;
  for (std::size_t round = 0; round < rounds; ++round) {
    auto const begin = std::chrono::steady_clock::now();
    std::size_t const pairs = loop.run(10);
    double const ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    best = std::min(best, ns / static_cast<double>(pairs));
  }
  std::printf("  \"%s_ns\": %.1f,\n  \"%s_reserved_per_live\": %.4f,\n", who, best, who, loop.reserved_per_live());
}

}  // namespace

int main(int count, char** arguments) {
  bool const is_short = count > 1 && std::strcmp(arguments[1], "--short") == 0;
  std::size_t const rounds = is_short ? 2 : 500;
  std::printf("{\n");
  measure("loop_unplanned", false, rounds);
  measure("loop_planned", true, rounds);
  std::printf("  \"rounds\": %zu\n}\n", rounds);
}
