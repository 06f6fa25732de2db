// SPDX-License-Identifier: Apache-2.0
// The optimizer's part of a step's list.
#include <tidemark/tidemark.h>

#include <utility>

#include "kernels/optimize.h"
#include "samples/trainer/plan_builder.h"

namespace tidemark::trainer {

// Where a step is taken as soon as a gradient is whole, the gradient ends there.
void PlanBuilder::step_finished(const Node& node) {
  for (ParameterId const p : node.parameters) {
    if (--contributions_[p] > 0 || part_ + 1 < choices_.accumulate) continue;
    gather_gradients(p);
    if (!choices_.step_in_backward) continue;
    Phase const phase = std::exchange(phase_, Phase::Optimizer);
    step(p);
    phase_ = phase;
    release(parameter_gradient_[p]);
  }
}

void PlanBuilder::step(ParameterId p) {
  const Parameter& parameter = graph_.parameters[p];
  layer_ = layer(parameter.layer);
  auto const index = static_cast<std::uint32_t>(p);
  BufferId const gradient = parameter_gradient_[p];
  if (is_in_passes(choices_.optimizer, choices_.fused)) {
    emit({.what = Do::StepMoments, .buffer = gradient, .index = index});
    BufferId divisor = make({.size_bytes = parameter.elements * 4, .kind = TIDEMARK_TEMPORARY, .name = "divisor"});
    emit({.what = Do::StepDivisor, .other = divisor, .index = index});
    emit({.what = Do::StepApply, .other = divisor, .index = index});
    release(divisor);
  } else if (choices_.optimizer == Optimizer::Adafactor) {
    std::size_t const rows = parameter.rows, columns = parameter.elements / rows;
    BufferId scratch = make(
        {.size_bytes = kernels::adafactor_scratch_bytes(rows, columns), .kind = TIDEMARK_TEMPORARY, .name = "scratch"});
    emit({.what = Do::Step, .buffer = gradient, .other = scratch, .index = index});
    release(scratch);
  } else {
    emit({.what = Do::Step, .buffer = gradient, .index = index});
  }
  if (fixed_.parameters[p].copy != kNoBuffer) emit({.what = Do::Narrow, .index = index});
}

// Adam in passes over all parameters: each pass is done for all of them before the next begins, so that the divisors of
// all are there at once.
void PlanBuilder::step_all_at_once() {
  auto const each = [&](auto f) {
    for (ParameterId p = 0; p < graph_.parameters.size(); ++p) {
      layer_ = layer(graph_.parameters[p].layer);
      f(p, static_cast<std::uint32_t>(p));
    }
  };
  std::vector<BufferId> divisors(graph_.parameters.size(), kNoBuffer);
  each([&](ParameterId p, std::uint32_t index) {
    emit({.what = Do::StepMoments, .buffer = parameter_gradient_[p], .index = index});
  });
  each([&](ParameterId p, std::uint32_t index) {
    divisors[p] =
        make({.size_bytes = graph_.parameters[p].elements * 4, .kind = TIDEMARK_TEMPORARY, .name = "divisor"});
    emit({.what = Do::StepDivisor, .other = divisors[p], .index = index});
  });
  each([&](ParameterId p, std::uint32_t index) {
    emit({.what = Do::StepApply, .other = divisors[p], .index = index});
    if (fixed_.parameters[p].copy != kNoBuffer) emit({.what = Do::Narrow, .index = index});
  });
  for (BufferId& divisor : divisors) release(divisor);
}

void PlanBuilder::optimize() {
  if (choices_.step_in_backward) return;
  if (choices_.check_finite) {
    emit({.what = Do::Clear, .buffer = fixed_.overflow});
    for (ParameterId p = 0; p < graph_.parameters.size(); ++p)
      emit({.what = Do::CheckFinite, .buffer = parameter_gradient_[p], .count = graph_.parameters[p].elements});
  }
  if (is_in_passes(choices_.optimizer, choices_.fused)) {
    step_all_at_once();
  } else {
    for (ParameterId p = 0; p < graph_.parameters.size(); ++p) step(p);
  }
  for (ParameterId p = 0; p < graph_.parameters.size(); ++p) {
    layer_ = layer(graph_.parameters[p].layer);
    release(parameter_gradient_[p]);
  }
}

}  // namespace tidemark::trainer
