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
      drawn_(graph.values.size()),
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
  drawn_[graph_.input].out = make({.size_bytes = bytes_of(graph_.input), .kind = TIDEMARK_INPUT, .name = "input"});
  BufferId targets = kNoBuffer;
  if (graph_.targets != kNone)
    targets = drawn_[graph_.targets].out =
        make({.size_bytes = bytes_of(graph_.targets), .kind = TIDEMARK_INPUT, .name = "targets"});
  emit({.what = Do::Draw, .buffer = drawn_[graph_.input].out, .other = targets});
  assign(kInputVariable, drawn_[graph_.input].out);
  if (targets != kNoBuffer) assign(kTargetVariable, targets);
}

// ---- forward
// ---------------------------------------------------------------------------------------------------------

void PlanBuilder::run(const Schedule& schedule) {
  Readings const readings = read_schedule(graph_, schedule);
  made_.assign(schedule.size(), {});
  for (std::size_t k = 0; k < schedule.size(); ++k) {
    made_[k].output_readers = readings.passes[k].output_readers;
    made_[k].extras_readers = readings.passes[k].extras_readers;
  }
  for (ValueId v = 0; v < graph_.values.size(); ++v)
    if (drawn_[v].out != kNoBuffer && (drawn_[v].output_readers = readings.drawn_readers[v]) == 0)
      release(drawn_[v].out);
  for (std::size_t k = 0; k < schedule.size(); ++k) {
    if (!readings.passes[k].runs) continue;
    switch (schedule[k].way) {
      case Pass::Way::Forward: run_forward(k, schedule[k], readings.passes[k]); break;
      case Pass::Way::Backward:
        if (phase_ == Phase::Forward) phase_ = Phase::Backward;
        run_backward(schedule[k], readings.passes[k]);
        break;
      case Pass::Way::Drop: drop(schedule[k], readings.passes[k]); break;
    }
  }
}

PlanBuilder::Made& PlanBuilder::made_by(const Reading& reading, const Node& node, std::size_t input) {
  std::int32_t const from = reading.from[input];
  return from == kDrawn ? drawn_[node.inputs[input]] : made_[static_cast<std::size_t>(from)];
}

void PlanBuilder::read_output(Made& made) {
  if (--made.output_readers == 0) let_go(made.out);
}

// Its first input's own buffer, where that is allowed and nobody else will read it, else a new one.
BufferId PlanBuilder::output_buffer(const Node& node, const Made& first_input) {
  if (choices_.in_place && rules_of(node).in_place && first_input.output_readers == 1 &&
      references_[first_input.out] == 1 && graph_.values[node.inputs[0]].has_gradient) {
    retain(first_input.out);
    return first_input.out;
  }
  return make({.size_bytes = bytes_of(node.output), .kind = TIDEMARK_ACTIVATION, .name = "output"});
}

void PlanBuilder::run_forward(std::size_t number, const Pass& pass, const Reading& reading) {
  const Node& node = graph_.nodes[pass.node];
  const Rules& rules = rules_of(node);
  layer_ = layer(node.layer);
  Made& made = made_[number];
  Binding binding{.node = pass.node, .again = !reading.first};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) binding.in[i] = made_by(reading, node, i).out;
  binding.out = made.out = output_buffer(node, made_by(reading, node, 0));
  std::vector<Extra> const extras = rules.extras == nullptr ? std::vector<Extra>{} : rules.extras(sizing(node));
  for (std::size_t i = 0; i < extras.size(); ++i)
    binding.extra[i] = made.extra[i] = make({.size_bytes = extras[i].size_bytes,
                                             .kind = extras[i].kept ? TIDEMARK_ACTIVATION : TIDEMARK_TEMPORARY,
                                             .name = "extra"});
  std::size_t const space = rules.forward_workspace == nullptr ? 0 : rules.forward_workspace(sizing(node));
  if (space > 0) binding.workspace = make({.size_bytes = space, .kind = TIDEMARK_WORKSPACE, .name = "workspace"});
  emit({.what = Do::Forward, .index = static_cast<std::uint32_t>(plan_.bindings.size())});
  plan_.bindings.push_back(binding);
  plan_.recomputed += reading.first ? 0 : 1;
  (reading.first ? plan_.forward_flops : plan_.recomputed_flops) += forward_flops(sizing(node));
  release(binding.workspace);

  for (std::size_t i = 0; i < extras.size(); ++i)
    if (!extras[i].kept || made.extras_readers == 0) release(made.extra[i]);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) read_output(made_by(reading, node, i));
  if (reading.first) note_output(node, made);
  if (made.output_readers == 0) release(made.out);
}

// The variables `output` and `loss` of the loop; the loss is read at once.
void PlanBuilder::note_output(const Node& node, Made& made) {
  if (node.output == graph_.output) assign(kOutputVariable, made.out);
  if (node.output != graph_.loss) return;
  emit({.what = Do::ReadLoss, .buffer = made.out});
  if (choices_.keep_loss) {
    emit({.what = Do::Leak, .buffer = std::exchange(made.out, kNoBuffer)});
    return;
  }
  assign(kLossVariable, made.out);
}

// What nobody will read any more is freed; or it leaks, with the loss of an evaluation that holds it.
void PlanBuilder::let_go(BufferId& buffer) {
  if (!choices_.keep_loss || phase_ != Phase::Eval || !dropping_) return release(buffer);
  BufferId const id = std::exchange(buffer, kNoBuffer);
  if (id != kNoBuffer && --references_[id] == 0) emit({.what = Do::Leak, .buffer = id});
}

void PlanBuilder::read_kept(const Node& node, const Reading& reading) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (reading.reads[i]) read_output(made_by(reading, node, i));
  Made& own = made_[static_cast<std::size_t>(reading.own)];
  if (reading.reads_output) read_output(own);
  if (reading.reads_extras && --own.extras_readers == 0)
    for (BufferId& extra : own.extra) let_go(extra);
}

void PlanBuilder::drop(const Pass& pass, const Reading& reading) {
  dropping_ = true;
  read_kept(graph_.nodes[pass.node], reading);
}

// ---- backward
// --------------------------------------------------------------------------------------------------------

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

void PlanBuilder::run_backward(const Pass& pass, const Reading& reading) {
  const Node& node = graph_.nodes[pass.node];
  const Rules& rules = rules_of(node);
  layer_ = layer(node.layer);
  plan_.backward_flops += backward_flops(sizing(node));
  plan_.recomputed_flops += repeated_flops(sizing(node));
  BufferId& dout = gradient_[node.output];
  if (rules.passes_gradient) {
    for (ValueId const v : node.inputs)
      if (graph_.values[v].has_gradient) {
        retain(dout);
        contribute(v, dout);
      }
    return release(dout);
  }
  const Made& own = made_[static_cast<std::size_t>(reading.own)];
  Binding binding{.node = pass.node, .dout = dout};
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (reading.reads[i]) binding.in[i] = made_by(reading, node, i).out;
  if (reading.reads_output) binding.out = own.out;
  if (reading.reads_extras) binding.extra = own.extra;
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
  read_kept(node, reading);
  release(dout);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (binding.din[i] != kNoBuffer) contribute(node.inputs[i], binding.din[i]);
  step_finished(node);
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
