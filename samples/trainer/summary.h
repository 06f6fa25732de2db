// SPDX-License-Identifier: Apache-2.0
// What a training was and gave, as one line of JSON for programs: the keys are in docs/trainer.md.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "samples/trainer/options.h"

namespace tidemark::trainer {

// FNV-1a, 64 bits.
class Hash {
 public:
  void add(const void* bytes, std::size_t count);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

// Hashes of what a session computes: its parameters' last gradients, and parameters and running statistics as they are.
class Witness {
 public:
  explicit Witness(Session& session, const Graph& graph);
  // From now on gradients are looked at as they are used; `took_ns` is the time that this takes.
  void watch_gradients();
  std::uint64_t gradients() const;
  std::uint64_t weights() const;
  std::uint64_t took_ns() const { return took_ns_; }
  // Whether kernels change memory here: not on a device in a dry run.
  static bool values_are_computed(Device& device);

 private:
  std::uint64_t hash_of(const void* device_address, std::size_t elements) const;
  Session& session_;
  const Graph& graph_;
  std::vector<std::uint64_t> gradients_;
  std::uint64_t took_ns_ = 0;
};

struct Summary {
  const Options& options;
  const Graph& graph;
  const Plan& plan;
  bool executed = false;
  std::vector<double> losses, eval_losses;
  std::vector<std::uint64_t> step_ns;
  std::vector<std::uint64_t> step_cpu_ns;  // the loop's own thread, which computes where the device is software
  std::uint64_t skipped_steps = 0;
  Account account;
  std::uint64_t gradients_hash = 0, weights_hash = 0;
};
std::string to_json(const Summary& summary);

}  // namespace tidemark::trainer
