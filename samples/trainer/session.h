// SPDX-License-Identifier: Apache-2.0
// A training: the fixed buffers and what executes plans on them. One thread.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "samples/trainer/device.h"
#include "samples/trainer/graph.h"
#include "samples/trainer/plan.h"

namespace tidemark::kernels {
struct Step;
}

namespace tidemark::trainer {

struct Settings {
  std::uint64_t seed = 1;
  float rate = 0.01f;  // of learning
  float weight_decay = 0;
  float momentum = 0.9f;
  float loss_scale = 1;
};

// What a step gave. `loss` is the mean over the step's samples.
struct StepResult {
  double loss = 0;
  bool skipped = false;  // gradients overflowed
};

class Session {
 public:
  // Allocates and fills the fixed buffers, in phase `setup`.
  Session(const Graph& graph, const Choices& choices, const Settings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Executes a step, and waits for it. Steps are numbered from 1 (Adam's corrections).
  StepResult run(const Plan& plan, std::uint64_t step);
  StepResult evaluate(const Plan& plan, std::uint64_t step);

  const Fixed& fixed() const { return fixed_; }
  Device& device() { return device_; }
  Settings& settings() { return settings_; }
  // Called for each parameter just before its step, with the gradient that the step will take: for whoever compares
  // them.
  using Watch = std::function<void(ParameterId parameter, const float* gradient, std::size_t elements)>;
  void watch(Watch watch) { watch_ = std::move(watch); }
  // Of a fixed buffer.
  void* address(BufferId buffer) const { return addresses_[buffer]; }

 private:
  struct Moment {
    const Plan& plan;
    std::uint64_t step;
    bool training;
  };
  StepResult execute(const Moment& moment);
  void execute(const Moment& moment, const Instruction& instruction);
  void call(const Moment& moment, const Instruction& instruction);
  void draw(const Moment& moment, const Instruction& instruction);
  void step(const Moment& moment, const Instruction& instruction);
  void adafactor(const Instruction& instruction, const kernels::Step& common, std::uint64_t step);
  void allocate(const Plan& plan, BufferId buffer);
  void mark(const Plan& plan, const Instruction& instruction);
  void unmark();
  void offload(const Plan& plan, BufferId buffer);
  void fill_parameters();

  const Graph& graph_;
  Choices choices_;
  Settings settings_;
  Device device_;
  Fixed fixed_;
  std::vector<void*> addresses_;
  struct Block {
    void* address = nullptr;
    std::size_t size_bytes = 0;
  };
  std::array<Block, kVariables> variables_{};
  std::vector<Block> leaked_;
  std::vector<void*> host_;  // pinned, by buffer: made at its first offload, kept for the next step
  float* losses_ = nullptr;  // pinned: of each part
  std::int32_t* overflow_ = nullptr;
  std::size_t loss_count_ = 0;
  int phase_ = -1;
  std::uint32_t layer_ = static_cast<std::uint32_t>(-1);
  Watch watch_;
};

}  // namespace tidemark::trainer
