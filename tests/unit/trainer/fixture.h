// SPDX-License-Identifier: Apache-2.0
// Trainings to order: a graph from a table, some steps of it, and everything that came out.
#pragma once
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "samples/trainer/check.h"
#include "samples/trainer/models.h"
#include "samples/trainer/session.h"

namespace tidemark::trainer {

inline Graph graph_of(std::string_view text, const Variables& variables = {}) {
  auto graph = read_model(text, variables);
  if (!graph) throw std::runtime_error(graph.error().what);
  return std::move(graph).value();
}

// A model in its tiny size, with changes.
inline Graph model(std::string_view name, std::string_view size = "tiny", const Variables& changes = {}) {
  auto found = find_model(name, size);
  if (!found) throw std::runtime_error(found.error().what);
  for (auto const& [key, value] : changes) found->variables.insert_or_assign(key, value);
  return graph_of(found->text, found->variables);
}

inline std::vector<float> to_host(const void* device, std::size_t elements) {
  std::vector<float> host(elements);
  TRAINER_CHECK(cudaMemcpy(host.data(), device, elements * sizeof(float), cudaMemcpyDeviceToHost));
  return host;
}

using Arrays = std::vector<std::vector<float>>;

inline bool same_bits(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].size() != b[i].size() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0)
      return false;
  return true;
}
// The distance of two over the length of the first.
inline double difference(const Arrays& a, const Arrays& b) {
  double apart = 0, size = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      apart += std::pow(static_cast<double>(a[k][i]) - b[k][i], 2);
      size += std::pow(static_cast<double>(a[k][i]), 2);
    }
  return std::sqrt(apart / size);
}

// Bytes, not rounded, that the forward pass has left behind where the first backward pass begins.
inline std::uint64_t left_behind(const Plan& plan) {
  std::uint64_t live = 0;
  for (const Instruction& i : plan.instructions) {
    if (i.phase == Phase::Backward) break;
    if (i.what == Do::Allocate) live += plan.buffers[i.buffer].size_bytes;
    if (i.what == Do::Free) live -= plan.buffers[i.buffer].size_bytes;
  }
  return live;
}

struct Outcome {
  std::vector<double> losses;
  Arrays gradients;               // of each step and parameter, in the order of the steps' own updates
  Arrays parameters, statistics;  // at the end
  std::uint64_t peak_bytes = 0, planned_bytes = 0, end_bytes = 0;
};

inline Outcome train(const Graph& graph, const Choices& choices, int steps, Settings settings = {.rate = 0.05f}) {
  Outcome outcome;
  Session session(graph, choices, settings);
  Plan const plan = plan_training(graph, session.fixed(), choices);
  std::vector<std::vector<float>> of_step(graph.parameters.size());
  session.watch([&](ParameterId p, const float* gradient, std::size_t n) {
    session.device().synchronize();
    of_step[p] = to_host(gradient, n);
  });
  for (int step = 1; step <= steps; ++step) {
    outcome.losses.push_back(session.run(plan, static_cast<std::uint64_t>(step)).loss);
    outcome.gradients.insert(outcome.gradients.end(), of_step.begin(), of_step.end());
  }
  for (std::size_t p = 0; p < graph.parameters.size(); ++p)
    outcome.parameters.push_back(
        to_host(session.address(session.fixed().parameters[p].value), graph.parameters[p].elements));
  for (std::size_t s = 0; s < graph.statistics.size(); ++s)
    outcome.statistics.push_back(to_host(session.address(session.fixed().statistics[s]), graph.statistics[s].elements));
  outcome.peak_bytes = session.device().account().peak_bytes;
  outcome.end_bytes = session.device().account().live_bytes;
  outcome.planned_bytes = peak_live_bytes(plan);
  return outcome;
}

}  // namespace tidemark::trainer
