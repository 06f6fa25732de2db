// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/plan_builder.h"

#include <tidemark/tidemark.h>

#include <algorithm>
#include <utility>

namespace tidemark::trainer {

PlanBuilder::PlanBuilder(const Graph& graph, const Fixed& fixed, const Choices& choices, std::size_t samples)
    : graph_(graph),
      fixed_(fixed),
      choices_(choices),
      samples_(samples),
      references_(fixed.buffers.size(), 1),
      value_(graph.values.size(), kNoBuffer),
      readers_(graph.values.size(), 0),
      kept_(graph.nodes.size()),
      gradient_(graph.values.size(), kNoBuffer),
      parameter_gradient_(graph.parameters.size(), kNoBuffer),
      more_gradients_(graph.parameters.size()),
      uses_(graph.parameters.size(), 0) {
  for (const Node& node : graph_.nodes)
    for (ParameterId const p : node.parameters) ++uses_[p];
  plan_.buffers = fixed.buffers;
  plan_.fixed_buffers = fixed.buffers.size();
  plan_.layers = fixed.layers;
  plan_.samples = samples;
  for (std::uint32_t i = 0; i < plan_.layers.size(); ++i) layer_numbers_[plan_.layers[i]] = i;
}

std::uint32_t PlanBuilder::layer(const std::string& name) {
  auto const [at, is_new] = layer_numbers_.try_emplace(name, static_cast<std::uint32_t>(plan_.layers.size()));
  if (is_new) plan_.layers.push_back(name);
  return at->second;
}

void PlanBuilder::emit(Instruction instruction) {
  instruction.phase = phase_;
  instruction.layer = layer_;
  instruction.part = part_;
  plan_.instructions.push_back(instruction);
}

BufferId PlanBuilder::make(const NewBuffer& buffer) {
  auto const id = static_cast<BufferId>(plan_.buffers.size());
  plan_.buffers.push_back({.size_bytes = buffer.size_bytes, .kind = buffer.kind, .layer = layer_, .name = buffer.name});
  references_.push_back(1);
  emit({.what = Do::Allocate, .buffer = id});
  return id;
}

void PlanBuilder::retain(BufferId buffer) {
  ++references_[buffer];
}

void PlanBuilder::release(BufferId& buffer) {
  BufferId const id = std::exchange(buffer, kNoBuffer);
  if (id == kNoBuffer || --references_[id] > 0 || id < plan_.fixed_buffers) return;
  emit({.what = Do::Free, .buffer = id});
}

void PlanBuilder::release(Kept& kept) {
  for (BufferId& b : kept.in) release(b);
  release(kept.out);
  for (BufferId& b : kept.extra) release(b);
}

// The old content goes when the new one is there, as `x = f()` does it.
void PlanBuilder::assign(Variable variable, BufferId buffer) {
  if (choices_.delete_early) return;
  retain(buffer);
  if (from_before_ && !assigned_[variable])
    emit({.what = Do::Release, .other = variable});
  else
    release(variable_[variable]);
  variable_[variable] = buffer;
  assigned_[variable] = true;
}

void PlanBuilder::clear_gradients() {
  for (ParameterId p = 0; p < graph_.parameters.size(); ++p) {
    layer_ = layer(graph_.parameters[p].layer);
    emit({.what = Do::Clear, .buffer = fixed_.parameters[p].gradient});
  }
}

void PlanBuilder::begin_part(std::size_t part, bool variables_from_before) {
  part_ = static_cast<std::uint32_t>(part);
  from_before_ = variables_from_before;
  layer_ = layer("data");
  contributions_ = uses_;
  value_[graph_.input] = make({.size_bytes = bytes_of(graph_.input), .kind = TIDEMARK_INPUT, .name = "input"});
  if (graph_.targets != kNone)
    value_[graph_.targets] = make({.size_bytes = bytes_of(graph_.targets), .kind = TIDEMARK_INPUT, .name = "targets"});
  emit({.what = Do::Draw,
        .buffer = value_[graph_.input],
        .other = graph_.targets == kNone ? kNoBuffer : value_[graph_.targets]});
  assign(kInputVariable, value_[graph_.input]);
  if (graph_.targets != kNone) assign(kTargetVariable, value_[graph_.targets]);
}

// ---- forward
// ---------------------------------------------------------------------------------------------------------

void PlanBuilder::count_readers(NodeRange range) {
  for (std::size_t n = range.first; n < range.last; ++n)
    for (ValueId const v : graph_.nodes[n].inputs) ++readers_[v];
}

// Its first input's own buffer, where that is allowed and nobody else will read it, else a new one.
BufferId PlanBuilder::output_buffer(const Node& node, const Rules& rules) {
  ValueId const first = node.inputs[0];
  BufferId const there = value_[first];
  if (choices_.in_place && rules.in_place && readers_[first] == 1 && references_[there] == 1 &&
      graph_.values[first].has_gradient) {
    retain(there);
    return there;
  }
  return make({.size_bytes = bytes_of(node.output), .kind = TIDEMARK_ACTIVATION, .name = "output"});
}

void PlanBuilder::keep_inputs(const Node& node, const Rules& rules, Kept& kept) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (rules.keeps_input[i]) retain(kept.in[i] = value_[node.inputs[i]]);
}

void PlanBuilder::run_forward(std::size_t number, bool keep, bool again) {
  const Node& node = graph_.nodes[number];
  const Rules& rules = rules_of(node.op);
  layer_ = layer(node.layer);
  Binding binding{.node = static_cast<std::uint32_t>(number), .again = again};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) binding.in[i] = value_[node.inputs[i]];
  binding.out = output_buffer(node, rules);
  std::vector<Extra> const extras = rules.extras == nullptr ? std::vector<Extra>{} : rules.extras(sizing(node));
  for (std::size_t i = 0; i < extras.size(); ++i)
    binding.extra[i] = make({.size_bytes = extras[i].size_bytes,
                             .kind = extras[i].kept ? TIDEMARK_ACTIVATION : TIDEMARK_TEMPORARY,
                             .name = "extra"});
  std::size_t const space = rules.forward_workspace == nullptr ? 0 : rules.forward_workspace(sizing(node));
  if (space > 0) binding.workspace = make({.size_bytes = space, .kind = TIDEMARK_WORKSPACE, .name = "workspace"});
  emit({.what = Do::Forward, .index = static_cast<std::uint32_t>(plan_.bindings.size())});
  plan_.bindings.push_back(binding);
  plan_.recomputed += again;
  release(binding.workspace);

  Kept& kept = kept_[number];
  if (keep) {
    keep_inputs(node, rules, kept);
    if (rules.keeps_output) retain(kept.out = binding.out);
  }
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (keep && extras[i].kept)
      kept.extra[i] = binding.extra[i];
    else
      release(binding.extra[i]);
  }
  for (ValueId const v : node.inputs)
    if (--readers_[v] == 0) release(value_[v]);
  value_[node.output] = binding.out;
}

// The variables `output` and `loss` of the loop; the loss is read at once.
void PlanBuilder::note_output(const Node& node) {
  if (node.output == graph_.output) assign(kOutputVariable, value_[node.output]);
  if (node.output != graph_.loss) return;
  emit({.what = Do::ReadLoss, .buffer = value_[node.output]});
  if (choices_.keep_loss) {
    emit({.what = Do::Leak, .buffer = std::exchange(value_[node.output], kNoBuffer)});
    return;
  }
  assign(kLossVariable, value_[node.output]);
}

void PlanBuilder::forward(const std::vector<NodeRange>& segments, bool keep_last) {
  for (std::size_t& r : readers_) r = 0;
  count_readers({0, graph_.nodes.size()});
  checkpoints_.assign(segments.size(), {});
  for (std::size_t s = 0; s < segments.size(); ++s) {
    bool const is_last = s + 1 == segments.size();
    if (!is_last) {
      std::vector<bool> seen(graph_.values.size());
      for (std::size_t n = segments[s].first; n < segments[s].last; ++n) {
        for (ValueId const v : graph_.nodes[n].inputs)
          if (!seen[v]) {
            seen[v] = true;
            retain(value_[v]);
            checkpoints_[s].emplace_back(v, value_[v]);
          }
        seen[graph_.nodes[n].output] = true;
      }
    }
    for (std::size_t n = segments[s].first; n < segments[s].last; ++n) {
      run_forward(n, is_last && keep_last, false);
      const Node& node = graph_.nodes[n];
      note_output(node);
      if (readers_[node.output] == 0) release(value_[node.output]);
    }
  }
}

// ---- computed once more
// ----------------------------------------------------------------------------------------------

// A node runs again only if something of it is read: by its own backward pass, or by a node of the segment.
std::vector<bool> PlanBuilder::needed_again(NodeRange segment) const {
  std::vector<bool> needed(segment.last - segment.first), read(graph_.values.size());
  for (std::size_t n = segment.last; n-- > segment.first;) {
    const Node& node = graph_.nodes[n];
    const Rules& rules = rules_of(node.op);
    bool keeps_extra = false;
    if (rules.extras != nullptr)
      for (const Extra& extra : rules.extras(sizing(node))) keeps_extra |= extra.kept;
    bool const runs = rules.keeps_output || keeps_extra || read[node.output];
    needed[n - segment.first] = runs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (runs || rules.keeps_input[i]) read[node.inputs[i]] = true;
  }
  return needed;
}

void PlanBuilder::recompute(NodeRange segment, std::size_t index) {
  for (std::size_t& r : readers_) r = 0;
  count_readers(segment);
  for (auto const& [value, buffer] : checkpoints_[index]) value_[value] = buffer;
  std::vector<bool> const needed = needed_again(segment);
  for (std::size_t n = segment.first; n < segment.last; ++n) {
    const Node& node = graph_.nodes[n];
    if (needed[n - segment.first]) {
      run_forward(n, true, true);
      if (readers_[node.output] == 0) release(value_[node.output]);
      continue;
    }
    keep_inputs(node, rules_of(node.op), kept_[n]);
    for (ValueId const v : node.inputs)
      if (--readers_[v] == 0) release(value_[v]);
  }
}

// ---- backward
// --------------------------------------------------------------------------------------------------------

void PlanBuilder::backward(const std::vector<NodeRange>& segments) {
  for (std::size_t s = segments.size(); s-- > 0;) {
    if (s + 1 < segments.size()) recompute(segments[s], s);
    for (std::size_t n = segments[s].last; n-- > segments[s].first;) run_backward(n);
  }
}

BufferId PlanBuilder::gradient_buffer(ParameterId p, bool& accumulate) {
  std::size_t const use = choices_.chunk == 0 ? 0 : uses_[p] - contributions_[p];
  if (use > 0) more_gradients_[p].resize(std::max(more_gradients_[p].size(), use), kNoBuffer);
  BufferId& buffer = use == 0 ? parameter_gradient_[p] : more_gradients_[p][use - 1];
  BufferId const fixed = use == 0 ? fixed_.parameters[p].gradient : kNoBuffer;
  accumulate = buffer != kNoBuffer || fixed != kNoBuffer;
  if (buffer != kNoBuffer) return buffer;
  buffer = fixed != kNoBuffer ? fixed
                              : make({.size_bytes = graph_.parameters[p].elements * 4,
                                      .kind = TIDEMARK_GRADIENT,
                                      .name = graph_.parameters[p].name.c_str()});
  return buffer;
}

void PlanBuilder::gather_gradients(ParameterId p) {
  for (BufferId& more : more_gradients_[p]) {
    emit({.what = Do::AddGradient,
          .buffer = parameter_gradient_[p],
          .other = parameter_gradient_[p],
          .index = more,
          .count = graph_.parameters[p].elements});
    release(more);
  }
  more_gradients_[p].clear();
}

// A value that several nodes read has the sum of their gradients, made in whichever of the two buffers is nobody
// else's.
void PlanBuilder::contribute(ValueId value, BufferId gradient) {
  BufferId& there = gradient_[value];
  if (there == kNoBuffer) {
    there = gradient;
    return;
  }
  BufferId sum = references_[gradient] == 1 ? gradient : references_[there] == 1 ? there : kNoBuffer;
  if (sum == kNoBuffer)
    sum = make({.size_bytes = bytes_of(value), .kind = TIDEMARK_TEMPORARY, .name = "gradient"});
  else
    retain(sum);
  emit({.what = Do::Add,
        .buffer = sum,
        .other = there,
        .index = gradient,
        .count = samples_ * graph_.values[value].shape.elements()});
  release(gradient);
  release(there);
  there = sum;
}

void PlanBuilder::run_backward(std::size_t number) {
  const Node& node = graph_.nodes[number];
  const Rules& rules = rules_of(node.op);
  layer_ = layer(node.layer);
  BufferId& dout = gradient_[node.output];
  if (rules.passes_gradient) {
    for (ValueId const v : node.inputs)
      if (graph_.values[v].has_gradient) {
        retain(dout);
        contribute(v, dout);
      }
    return release(dout);
  }
  Kept& kept = kept_[number];
  Binding binding{
      .node = static_cast<std::uint32_t>(number), .in = kept.in, .out = kept.out, .dout = dout, .extra = kept.extra};
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (graph_.values[node.inputs[i]].has_gradient)
      binding.din[i] = make({.size_bytes = bytes_of(node.inputs[i]), .kind = TIDEMARK_TEMPORARY, .name = "gradient"});
  for (std::size_t i = 0; i < node.parameters.size(); ++i)
    binding.dparameter[i] = gradient_buffer(node.parameters[i], binding.accumulate[i]);
  std::size_t const space = rules.backward_workspace == nullptr ? 0 : rules.backward_workspace(sizing(node));
  if (space > 0) binding.workspace = make({.size_bytes = space, .kind = TIDEMARK_WORKSPACE, .name = "workspace"});
  emit({.what = Do::Backward, .index = static_cast<std::uint32_t>(plan_.bindings.size())});
  plan_.bindings.push_back(binding);
  release(binding.workspace);
  release(kept);
  release(dout);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (binding.din[i] != kNoBuffer) contribute(node.inputs[i], binding.din[i]);
  step_finished(node);
}

void PlanBuilder::drop_kept(bool leak) {
  for (Kept& kept : kept_) {
    if (!leak) {
      release(kept);
      continue;
    }
    auto const leave = [&](BufferId& buffer) {
      BufferId const id = std::exchange(buffer, kNoBuffer);
      if (id == kNoBuffer || --references_[id] > 0) return;
      emit({.what = Do::Leak, .buffer = id});
    };
    for (BufferId& b : kept.in) leave(b);
    leave(kept.out);
    for (BufferId& b : kept.extra) leave(b);
  }
}

// ---- the optimizer
// ---------------------------------------------------------------------------------------------------

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

void PlanBuilder::end_step() {
  for (std::uint32_t v = 0; v < kVariables; ++v)
    if (variable_[v] != kNoBuffer)
      emit({.what = Do::Hold, .buffer = std::exchange(variable_[v], kNoBuffer), .other = v});
}

Plan PlanBuilder::finish() && {
  return std::move(plan_);
}

}  // namespace tidemark::trainer
