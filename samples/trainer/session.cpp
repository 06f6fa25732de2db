// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/session.h"

#include <tidemark/tidemark.h>

#include <cmath>
#include <utility>

#include "kernels/elementwise.h"
#include "kernels/generate.h"
#include "kernels/optimize.h"
#include "samples/trainer/check.h"
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {
namespace {

constexpr std::size_t kMaxParts = 4096;

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::Forward: return "forward";
    case Phase::Backward: return "backward";
    case Phase::Optimizer: return "optimizer";
    case Phase::Eval: return "eval";
    default: return "other";
  }
}

}  // namespace

Session::Session(const Graph& graph, const Choices& choices, const Settings& settings)
    : graph_(graph), choices_(choices), settings_(settings), fixed_(lay_out(graph, choices)) {
  TRAINER_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&losses_), kMaxParts * sizeof(float), cudaHostAllocDefault));
  TRAINER_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&overflow_), sizeof(std::int32_t), cudaHostAllocDefault));
  *overflow_ = 0;
  tidemark_push(TIDEMARK_PHASE, "setup");
  addresses_.resize(fixed_.buffers.size(), nullptr);
  for (std::size_t i = 0; i < fixed_.buffers.size(); ++i) {
    const Buffer& b = fixed_.buffers[i];
    tidemark_push(TIDEMARK_LAYER, fixed_.layers[b.layer].c_str());
    addresses_[i] = device_.allocate(b.size_bytes);
    tidemark_tag(addresses_[i], b.kind, b.name.c_str());
    tidemark_pop(TIDEMARK_LAYER);
  }
  fill_parameters();
  tidemark_pop(TIDEMARK_PHASE);
}

Session::~Session() {
  unmark();
  device_.synchronize();
  for (Block& block : variables_)
    if (block.address != nullptr) device_.free(block.address, block.size_bytes);
  for (const Block& block : leaked_) device_.free(block.address, block.size_bytes);
  for (std::size_t i = 0; i < fixed_.buffers.size(); ++i) device_.free(addresses_[i], fixed_.buffers[i].size_bytes);
  for (void* const block : host_)
    if (block != nullptr) cudaFreeHost(block);
  cudaFreeHost(losses_);
  cudaFreeHost(overflow_);
}

void Session::fill_parameters() {
  for (std::size_t p = 0; p < graph_.parameters.size(); ++p) {
    const Parameter& parameter = graph_.parameters[p];
    const Fixed::OfParameter& of = fixed_.parameters[p];
    auto* const values = static_cast<float*>(addresses_[of.value]);
    kernels::Stream const random{.seed = settings_.seed, .purpose = kParameterPurpose + static_cast<std::uint32_t>(p)};
    if (parameter.start == Start::Constant)
      kernels::fill(device_.stream(), values, parameter.elements, parameter.scale);
    else if (parameter.start == Start::Uniform)
      kernels::fill_uniform(device_.stream(), values, parameter.elements, parameter.scale, random);
    else
      kernels::fill_normal(device_.stream(), values, parameter.elements, parameter.scale, random);
    if (of.copy != kNoBuffer)
      kernels::narrow_from_float(device_.stream(), choices_.type, values, addresses_[of.copy], parameter.elements);
    for (BufferId const state : of.state)
      if (state != kNoBuffer) device_.clear(addresses_[state], fixed_.buffers[state].size_bytes);
  }
  for (std::size_t s = 0; s < graph_.statistics.size(); ++s)
    kernels::fill(device_.stream(), static_cast<float*>(addresses_[fixed_.statistics[s]]),
                  graph_.statistics[s].elements, graph_.statistics[s].start);
  device_.synchronize();
}

// ---- marks
// -----------------------------------------------------------------------------------------------------------

void Session::mark(const Plan& plan, const Instruction& i) {
  if (static_cast<int>(i.phase) == phase_ && i.layer == layer_) return;
  unmark();
  phase_ = static_cast<int>(i.phase);
  layer_ = i.layer;
  tidemark_push(TIDEMARK_PHASE, phase_name(i.phase));
  tidemark_push(TIDEMARK_LAYER, plan.layers[i.layer].c_str());
}

void Session::unmark() {
  if (phase_ < 0) return;
  tidemark_pop(TIDEMARK_LAYER);
  tidemark_pop(TIDEMARK_PHASE);
  phase_ = -1;
}

// ---- instructions
// ----------------------------------------------------------------------------------------------------

StepResult Session::run(const Plan& plan, std::uint64_t number) {
  tidemark_step(number);
  return execute({.plan = plan, .step = number, .training = true});
}

StepResult Session::evaluate(const Plan& plan, std::uint64_t number) {
  return execute({.plan = plan, .step = number, .training = false});
}

StepResult Session::execute(const Moment& moment) {
  addresses_.resize(moment.plan.buffers.size(), nullptr);
  loss_count_ = 0;
  for (const Instruction& i : moment.plan.instructions) {
    mark(moment.plan, i);
    execute(moment, i);
  }
  unmark();
  if (choices_.check_finite && moment.training)
    TRAINER_CHECK(cudaMemcpyAsync(overflow_, addresses_[fixed_.overflow], sizeof *overflow_, cudaMemcpyDeviceToHost,
                                  device_.stream()));
  device_.synchronize();
  StepResult result{.skipped = choices_.check_finite && moment.training && *overflow_ != 0};
  for (std::size_t i = 0; i < loss_count_; ++i) result.loss += losses_[i];
  return result;
}

void Session::allocate(const Plan& plan, BufferId id) {
  const Buffer& buffer = plan.buffers[id];
  addresses_[id] = device_.allocate(buffer.size_bytes);
  tidemark_tag(addresses_[id], buffer.kind, buffer.name.c_str());
}

void Session::offload(const Plan& plan, BufferId id) {
  std::size_t const size_bytes = plan.buffers[id].size_bytes;
  if (host_.size() <= id) host_.resize(plan.buffers.size(), nullptr);
  if (host_[id] == nullptr) TRAINER_CHECK(cudaHostAlloc(&host_[id], size_bytes, cudaHostAllocDefault));
  TRAINER_CHECK(cudaMemcpyAsync(host_[id], addresses_[id], size_bytes, cudaMemcpyDeviceToHost, device_.stream()));
}

void Session::execute(const Moment& moment, const Instruction& i) {
  auto const block = [&] {
    return Block{std::exchange(addresses_[i.buffer], nullptr), moment.plan.buffers[i.buffer].size_bytes};
  };
  auto const free_block = [&](const Block& b) {
    if (b.address != nullptr) device_.free(b.address, b.size_bytes);
  };
  switch (i.what) {
    case Do::Allocate: return allocate(moment.plan, i.buffer);
    case Do::Free: return free_block(block());
    case Do::Release: return free_block(std::exchange(variables_[i.other], {}));
    case Do::Hold: variables_[i.other] = block(); return;
    case Do::Leak: leaked_.push_back(block()); return;
    case Do::Draw: return draw(moment, i);
    case Do::Forward:
    case Do::Backward: return call(moment, i);
    case Do::Offload: offload(moment.plan, i.buffer); return free_block(block());
    case Do::Fetch:
      TRAINER_CHECK(cudaMemcpyAsync(addresses_[i.buffer], host_[i.buffer], moment.plan.buffers[i.buffer].size_bytes,
                                    cudaMemcpyHostToDevice, device_.stream()));
      return;
    case Do::AddGradient:
      return kernels::add(device_.stream(), Type::F32, addresses_[i.other], addresses_[i.index], addresses_[i.buffer],
                          i.count);
    case Do::Add:
      return kernels::add(device_.stream(), choices_.type, addresses_[i.other], addresses_[i.index],
                          addresses_[i.buffer], i.count);
    case Do::Clear: return device_.clear(addresses_[i.buffer], moment.plan.buffers[i.buffer].size_bytes);
    case Do::CheckFinite:
      return kernels::flag_not_finite(device_.stream(), static_cast<const float*>(addresses_[i.buffer]), i.count,
                                      static_cast<std::int32_t*>(addresses_[fixed_.overflow]));
    case Do::ReadLoss:
      TRAINER_CHECK(cudaMemcpyAsync(&losses_[loss_count_++ % kMaxParts], addresses_[i.buffer], sizeof(float),
                                    cudaMemcpyDeviceToHost, device_.stream()));
      return;
    default: return step(moment, i);
  }
}

void Session::call(const Moment& moment, const Instruction& i) {
  const Binding& binding = moment.plan.bindings[i.index];
  const Node& node = graph_.nodes[binding.node];
  std::size_t const samples = moment.plan.samples;
  Call call{
      .device = device_,
      .sizing = {.graph = graph_, .node = node, .samples = samples, .type = choices_.type, .chunk = choices_.chunk},
      .batch = samples * moment.plan.parts,
      .first_sample = i.part * samples,
      .step = moment.step,
      .seed = settings_.seed,
      .loss_scale = settings_.loss_scale,
      .training = moment.training,
      .update_statistics = !binding.again,
      .naive_sums = choices_.naive_sums};
  auto const at = [&](BufferId id) { return id == kNoBuffer ? nullptr : addresses_[id]; };
  for (std::size_t k = 0; k < kMaxInputs; ++k) call.in[k] = at(binding.in[k]), call.din[k] = at(binding.din[k]);
  for (std::size_t k = 0; k < kMaxExtras; ++k) call.extra[k] = at(binding.extra[k]);
  call.out = at(binding.out);
  call.workspace = at(binding.workspace);
  call.dout = at(binding.dout);
  for (std::size_t k = 0; k < node.parameters.size(); ++k) {
    const Fixed::OfParameter& of = fixed_.parameters[node.parameters[k]];
    call.parameter[k] = static_cast<float*>(at(of.value));
    call.weight[k] = at(of.copy == kNoBuffer ? of.value : of.copy);
    call.dparameter[k] = static_cast<float*>(at(binding.dparameter[k]));
    call.accumulate[k] = binding.accumulate[k];
  }
  for (std::size_t k = 0; k < node.statistics.size(); ++k)
    call.statistic[k] = static_cast<float*>(at(fixed_.statistics[node.statistics[k]]));
  const Rules& rules = rules_of(node);
  if (i.what == Do::Forward)
    rules.forward(call);
  else
    rules.backward(call);
}

void Session::draw(const Moment& moment, const Instruction& i) {
  const DataSpec& data = graph_.data;
  std::size_t const samples = moment.plan.samples;
  // Evaluation has samples of its own.
  std::uint64_t const first =
      (moment.training ? 0 : std::uint64_t{1} << 40) + moment.step * samples * moment.plan.parts + i.part * samples;
  kernels::Samples const which{.first = first, .count = samples, .seed = settings_.seed};
  void* const input = addresses_[i.buffer];
  void* const targets = i.other == kNoBuffer ? nullptr : addresses_[i.other];
  if (data.kind == Data::Text || data.kind == Data::MaskedText)
    return kernels::draw_text(
        device_.stream(), which,
        {.length = data.input.size[0], .vocabulary = data.classes, .masked = data.kind == Data::MaskedText},
        static_cast<std::int32_t*>(input), static_cast<std::int32_t*>(targets));
  bool const flat = data.input.rank < 3;
  kernels::Picture const picture{.channels = flat ? 1 : data.input.size[0],
                                 .height = flat ? data.input.size[0] : data.input.size[1],
                                 .width = flat ? (data.input.rank == 2 ? data.input.size[1] : 1) : data.input.size[2],
                                 .classes = data.classes};
  if (data.kind == Data::Disks)
    return kernels::draw_disks(device_.stream(), choices_.type, which, picture, input,
                               static_cast<std::uint8_t*>(targets));
  kernels::draw_pictures(device_.stream(), choices_.type, which, picture, input);
  if (targets != nullptr) kernels::draw_classes(device_.stream(), which, picture, static_cast<std::int32_t*>(targets));
}

void Session::step(const Moment& moment, const Instruction& i) {
  const Fixed::OfParameter& of = fixed_.parameters[i.index];
  std::size_t const n = graph_.parameters[i.index].elements;
  auto const floats = [&](BufferId id) { return id == kNoBuffer ? nullptr : static_cast<float*>(addresses_[id]); };
  float* const weight = floats(of.value);
  const float* const gradient = floats(i.buffer);
  bool const begins = i.what == Do::Step || i.what == Do::StepMoments;
  if (begins && watch_) watch_(i.index, gradient, n);
  kernels::Step const common{
      .rate = settings_.rate,
      .weight_decay = settings_.weight_decay,
      .scale = 1.0f / settings_.loss_scale,
      .skip = choices_.check_finite ? static_cast<const std::int32_t*>(addresses_[fixed_.overflow]) : nullptr};
  kernels::Adam adam{.step = common, .decoupled = choices_.optimizer == Optimizer::AdamW};
  auto const t = static_cast<float>(moment.step);
  adam.correction1 = 1.0f - std::pow(adam.beta1, t);
  adam.correction2 = 1.0f - std::pow(adam.beta2, t);
  cudaStream_t const stream = device_.stream();
  switch (i.what) {
    case Do::Step:
      if (choices_.optimizer == Optimizer::Sgd) return kernels::sgd_step(stream, common, weight, gradient, n);
      if (choices_.optimizer == Optimizer::Momentum)
        return kernels::momentum_step(stream, common, settings_.momentum, weight, gradient, floats(of.state[0]), n);
      if (choices_.optimizer == Optimizer::Adam8bit)
        return kernels::adam_small_step(stream, adam, weight, gradient, addresses_[of.state[0]],
                                        addresses_[of.state[1]], n);
      if (choices_.optimizer == Optimizer::Adafactor) return adafactor(i, common, moment.step);
      return kernels::adam_step(stream, adam, weight, gradient, floats(of.state[0]), floats(of.state[1]), n);
    case Do::StepMoments:
      return kernels::adam_moments(stream, adam, weight, gradient, floats(of.state[0]), floats(of.state[1]), n);
    case Do::StepDivisor: return kernels::adam_denominator(stream, adam, floats(of.state[1]), floats(i.other), n);
    case Do::StepApply: return kernels::adam_apply(stream, adam, weight, floats(of.state[0]), floats(i.other), n);
    case Do::Narrow: return kernels::narrow_from_float(stream, choices_.type, weight, addresses_[of.copy], n);
    default: return;
  }
}

void Session::adafactor(const Instruction& i, const kernels::Step& common, std::uint64_t step) {
  const Fixed::OfParameter& of = fixed_.parameters[i.index];
  const Parameter& parameter = graph_.parameters[i.index];
  auto const floats = [&](BufferId id) { return static_cast<float*>(addresses_[id]); };
  bool const is_vector = parameter.rows == 1;
  kernels::adafactor_step(device_.stream(),
                          {.step = common,
                           .keep = 1.0f - std::pow(static_cast<float>(step), -0.8f),
                           .rows = parameter.rows,
                           .columns = parameter.elements / parameter.rows},
                          floats(of.value), floats(i.buffer),
                          {.rows = is_vector ? nullptr : floats(of.state[0]),
                           .columns = floats(of.state[is_vector ? 0 : 1]),
                           .scratch = floats(i.other)});
}

}  // namespace tidemark::trainer
