// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/plan.h"

#include <tidemark/tidemark.h>

#include <algorithm>

#include "base/bytes.h"
#include "kernels/optimize.h"
#include "samples/trainer/choose.h"
#include "samples/trainer/plan_builder.h"

namespace tidemark::trainer {
namespace {

constexpr std::uint64_t kRounding = 512;

// Bytes of the two states that an optimizer keeps of a parameter; 0: it has none.
std::array<std::size_t, 2> state_bytes(Optimizer optimizer, const Parameter& p) {
  std::size_t const whole = p.elements * 4, small = kernels::small_state_bytes(p.elements);
  switch (optimizer) {
    case Optimizer::Sgd: return {0, 0};
    case Optimizer::Momentum: return {whole, 0};
    case Optimizer::Adam:
    case Optimizer::AdamW: return {whole, whole};
    case Optimizer::Adam8bit: return {small, small};
    // A mean square per row and per column of a matrix; per element of a vector.
    case Optimizer::Adafactor:
      return p.rows == 1 ? std::array{whole, std::size_t{0}} : std::array{p.rows * 4, p.elements / p.rows * 4};
  }
  return {0, 0};
}

}  // namespace

Fixed lay_out(const Graph& graph, const Choices& choices) {
  Fixed fixed;
  auto const add = [&](const std::string& layer, std::size_t size_bytes, int kind, std::string name) {
    auto const at = std::find(fixed.layers.begin(), fixed.layers.end(), layer);
    auto const number = static_cast<std::uint32_t>(at - fixed.layers.begin());
    if (at == fixed.layers.end()) fixed.layers.push_back(layer);
    fixed.buffers.push_back({.size_bytes = size_bytes, .kind = kind, .layer = number, .name = std::move(name)});
    return static_cast<BufferId>(fixed.buffers.size() - 1);
  };
  for (const Parameter& p : graph.parameters) {
    Fixed::OfParameter of;
    std::size_t const bytes = p.elements * 4;
    of.value = add(p.layer, bytes, TIDEMARK_PARAMETER, p.name);
    if (choices.type != Type::F32 && p.matrix)
      of.copy = add(p.layer, p.elements * kernels::type_bytes(choices.type), TIDEMARK_PARAMETER, p.name + " copy");
    if (choices.zero_gradients) of.gradient = add(p.layer, bytes, TIDEMARK_GRADIENT, p.name);
    std::array const states = state_bytes(choices.optimizer, p);
    for (std::size_t i = 0; i < states.size(); ++i)
      if (states[i] > 0) of.state[i] = add(p.layer, states[i], TIDEMARK_OPTIMIZER, p.name);
    fixed.parameters.push_back(of);
  }
  for (const Statistic& s : graph.statistics)
    fixed.statistics.push_back(add(s.layer, s.elements * 4, TIDEMARK_BUFFER, s.name));
  if (choices.check_finite) fixed.overflow = add("optimizer", 4, TIDEMARK_BUFFER, "overflow");
  return fixed;
}

Plan plan_training(const Graph& graph, const Fixed& fixed, const Choices& choices, const Schedule& schedule) {
  PlanBuilder builder(graph, fixed, choices, choices.batch / choices.accumulate);
  if (choices.zero_gradients) builder.clear_gradients();
  for (std::size_t part = 0; part < choices.accumulate; ++part) {
    builder.set_phase(Phase::Forward);
    builder.begin_part(part, part == 0);
    builder.run(schedule);
  }
  builder.set_phase(Phase::Optimizer);
  builder.optimize();
  builder.end_step();
  Plan plan = std::move(builder).finish();
  plan.parts = choices.accumulate;
  if (choices.offload) offload_activations(plan);
  return plan;
}

Plan plan_training(const Graph& graph, const Fixed& fixed, const Choices& choices) {
  return plan_training(graph, fixed, choices, choose_schedule(graph, fixed, choices).value());
}

Plan plan_evaluation(const Graph& graph, const Fixed& fixed, const Choices& choices, const Evaluation& evaluation) {
  Choices const plain{.batch = evaluation.batch,
                      .chunk = choices.chunk,
                      .type = choices.type,
                      .in_place = choices.in_place,
                      .delete_early = true,
                      .keep_loss = choices.keep_loss};
  PlanBuilder builder(graph, fixed, plain, evaluation.batch);
  builder.set_phase(Phase::Eval);
  builder.begin_part(0, false);
  builder.run(evaluation_schedule(graph, !evaluation.no_grad));
  return std::move(builder).finish();
}

std::uint64_t fixed_bytes(const Plan& plan) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < plan.fixed_buffers; ++i) sum += round_up(plan.buffers[i].size_bytes, kRounding);
  return sum;
}

std::uint64_t peak_live_bytes(const Plan& plan) {
  std::uint64_t live = fixed_bytes(plan), peak = live;
  std::array<std::uint64_t, kVariables> held{};
  for (int execution = 0; execution < 2; ++execution)
    for (const Instruction& i : plan.instructions) {
      std::uint64_t const bytes = i.buffer == kNoBuffer ? 0 : round_up(plan.buffers[i.buffer].size_bytes, kRounding);
      if (i.what == Do::Allocate) live += bytes;
      if (i.what == Do::Free || i.what == Do::Offload) live -= bytes;
      if (i.what == Do::Hold) held[i.other] = bytes;
      if (i.what == Do::Release) live -= std::exchange(held[i.other], 0);
      peak = std::max(peak, live);
    }
  return peak;
}

}  // namespace tidemark::trainer
