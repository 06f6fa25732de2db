// SPDX-License-Identifier: Apache-2.0
// Offloading as a change of a finished list: who reads which buffer when is all in it.
#include <tidemark/tidemark.h>

#include <utility>
#include <vector>

#include "samples/trainer/plan.h"

namespace tidemark::trainer {
namespace {

constexpr std::size_t kNever = static_cast<std::size_t>(-1);

// Places in the list of instructions.
struct Touched {
  std::size_t last_forward = kNever, first_backward = kNever;
  bool held = false;  // by a variable, or for ever
};

template <class F>
void each_buffer(const Plan& plan, const Instruction& i, F f) {
  auto const give = [&](BufferId id) {
    if (id != kNoBuffer && id >= plan.fixed_buffers) f(id);
  };
  switch (i.what) {
    case Do::Forward:
    case Do::Backward: {
      const Binding& b = plan.bindings[i.index];
      for (BufferId const id : b.in) give(id);
      for (BufferId const id : b.extra) give(id);
      give(b.out);
      break;
    }
    case Do::Draw: give(i.buffer), give(i.other); break;
    case Do::ReadLoss: give(i.buffer); break;
    default: break;  // gradients and what belongs to the optimizer
  }
}

std::vector<Touched> readings_of(const Plan& plan) {
  std::vector<Touched> readings(plan.buffers.size());
  for (std::size_t at = 0; at < plan.instructions.size(); ++at) {
    const Instruction& i = plan.instructions[at];
    if (i.what == Do::Hold || i.what == Do::Leak) readings[i.buffer].held = true;
    each_buffer(plan, i, [&](BufferId id) {
      Touched& r = readings[id];
      if (i.phase == Phase::Forward) r.last_forward = at;
      if (i.phase == Phase::Backward && r.first_backward == kNever) r.first_backward = at;
    });
  }
  return readings;
}

// The loss is read where the backward pass begins: what only the two have between them would go and come at once.
bool is_worth_it(const Plan& plan, BufferId id, const Touched& r) {
  const Buffer& buffer = plan.buffers[id];
  if (buffer.kind != TIDEMARK_ACTIVATION && buffer.kind != TIDEMARK_INPUT) return false;
  if (buffer.size_bytes < kOffloadBytes || r.held || r.last_forward == kNever || r.first_backward == kNever)
    return false;
  for (std::size_t at = r.last_forward + 1; at < r.first_backward; ++at)
    if (plan.instructions[at].what == Do::Forward || plan.instructions[at].what == Do::Backward) return true;
  return false;
}

}  // namespace

void offload_activations(Plan& plan) {
  std::vector<Touched> const readings = readings_of(plan);
  std::vector<std::vector<BufferId>> leave(plan.instructions.size()), come(plan.instructions.size());
  for (BufferId id = static_cast<BufferId>(plan.fixed_buffers); id < plan.buffers.size(); ++id) {
    if (!is_worth_it(plan, id, readings[id])) continue;
    leave[readings[id].last_forward].push_back(id);
    come[readings[id].first_backward].push_back(id);
  }
  std::vector<Instruction> with;
  for (std::size_t at = 0; at < plan.instructions.size(); ++at) {
    Instruction like = plan.instructions[at];
    auto const add = [&](Do what, BufferId id) {
      with.push_back({.what = what, .phase = like.phase, .layer = like.layer, .part = like.part, .buffer = id});
    };
    for (BufferId const id : come[at]) add(Do::Allocate, id), add(Do::Fetch, id);
    with.push_back(like);
    for (BufferId const id : leave[at]) add(Do::Offload, id);
  }
  plan.instructions = std::move(with);
}

}  // namespace tidemark::trainer
