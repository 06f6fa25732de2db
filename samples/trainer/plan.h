// SPDX-License-Identifier: Apache-2.0
// A step of training as a list of instructions: which buffer is allocated when, which op runs on which buffers, which
// buffer is freed when. The list is made once, from the graph and the choices, and executed at every step; memory is
// known from it to the byte before anything runs. Every trick is a choice of this list. Ops and executor know none of
// them.
//
// The moments, fixed here and in docs/trainer.md:
//   forward    output, extras, workspace allocated in this order; op; workspace and what backward will not read freed
//   backward   gradients of inputs, of parameters (the first time), workspace allocated; op; workspace, kept buffers
//   and
//              the output's gradient freed; a second gradient of one value added to the first and freed
//   a value is freed after the last instruction that reads it, except that variables of the loop (batch, output, loss)
//   live until they are assigned again
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "samples/trainer/graph.h"
#include "samples/trainer/op.h"
#include "samples/trainer/schedule.h"

namespace tidemark::trainer {

enum class Optimizer : std::uint8_t { Sgd, Momentum, Adam, AdamW, Adam8bit, Adafactor };
// Whether its step is taken in passes with a buffer between them.
constexpr bool is_in_passes(Optimizer optimizer, bool fused) {
  return (optimizer == Optimizer::Adam || optimizer == Optimizer::AdamW) && !fused;
}
// Which parts are computed again instead of kept: none; sqrt(N) segments twice; the least peak for no more
// recomputation than that; the least recomputation for a peak within a budget (choose.h).
enum class Checkpoint : std::uint8_t { None, Sqrt, Optimal, Budget };

struct Choices {
  std::size_t batch = 1;       // samples of a step
  std::size_t accumulate = 1;  // parts the batch is taken in, one after the other
  std::size_t chunk = 0;       // --reduce-chunk
  Type type = Type::F32;
  Optimizer optimizer = Optimizer::Sgd;
  bool fused = false;  // Adam's step in one pass, without a buffer
  Checkpoint checkpoint = Checkpoint::None;
  std::uint64_t budget_bytes = 0;  // of Checkpoint::Budget: for the peak of live bytes
  bool selective = false;          // what cheap ops make is computed again instead of kept
  bool in_place = false;
  bool delete_early = false;    // variables of the loop end with their last use
  bool keep_loss = false;       // each step's loss is never freed
  bool zero_gradients = false;  // gradients stay allocated and are set to zero, instead of freed after the step
  bool step_in_backward = false;
  bool offload = false;       // what backward will read waits in host memory
  bool check_finite = false;  // a step whose gradients overflowed is skipped
  bool naive_sums = false;    // --naive-fp16: the loss is summed in half
};

// What memory is for, in tidemark's words (TIDEMARK_PARAMETER, ...).
struct Buffer {
  std::size_t size_bytes = 0;
  int kind = 0;
  std::uint32_t layer = 0;  // Plan::layers
  std::string name;
};
using BufferId = std::uint32_t;
inline constexpr BufferId kNoBuffer = static_cast<BufferId>(-1);

// Buffers that live as long as the training, and their places in the list of buffers.
struct Fixed {
  std::vector<Buffer> buffers;
  std::vector<std::string> layers;
  struct OfParameter {
    BufferId value = kNoBuffer, copy = kNoBuffer, gradient = kNoBuffer;
    std::array<BufferId, 2> state{kNoBuffer, kNoBuffer};
  };
  std::vector<OfParameter> parameters;
  std::vector<BufferId> statistics;
  BufferId overflow = kNoBuffer;  // the flag of check_finite
};
Fixed lay_out(const Graph& graph, const Choices& choices);

enum class Phase : std::uint8_t { Other, Forward, Backward, Optimizer, Eval };

enum class Do : std::uint8_t {
  Allocate,     // buffer
  Free,         // buffer
  Draw,         // the part's samples into input (buffer) and targets (other)
  Forward,      // call
  Backward,     // call
  Add,          // buffer = other + index (a buffer), count elements
  AddGradient,  // the same of parameters' gradients, which are float
  Clear,        // buffer
  Step,         // parameter; buffer: its gradient; other: scratch, where the optimizer needs some
  StepMoments,  // Adam's three passes; other: the denominator
  StepDivisor,
  StepApply,
  Narrow,       // parameter's working copy
  CheckFinite,  // buffer: a gradient, count elements
  ReadLoss,     // buffer
  Hold,         // buffer becomes variable `other` of the loop, whose old content is freed at its Release
  Release,      // variable `other`
  Leak,         // buffer is never freed
  Offload,      // buffer: its bytes go to the host, and it is freed
  Fetch,        // buffer, allocated again: its bytes come back
};

// The variables of a training loop.
enum Variable : std::uint32_t { kInputVariable, kTargetVariable, kOutputVariable, kLossVariable, kVariables };

struct Instruction {
  Do what{};
  Phase phase = Phase::Other;
  std::uint32_t layer = 0;
  std::uint32_t part = 0;  // of the batch
  BufferId buffer = kNoBuffer, other = kNoBuffer;
  std::uint32_t index = 0;  // of a call or a parameter
  std::size_t count = 0;
};

// An op's buffers.
struct Binding {
  std::uint32_t node = 0;
  bool again = false;  // a forward pass done once more
  std::array<BufferId, kMaxInputs> in{kNoBuffer, kNoBuffer};
  BufferId out = kNoBuffer, workspace = kNoBuffer, dout = kNoBuffer;
  std::array<BufferId, kMaxExtras> extra{kNoBuffer, kNoBuffer, kNoBuffer};
  std::array<BufferId, kMaxInputs> din{kNoBuffer, kNoBuffer};
  std::array<BufferId, kMaxParameters> dparameter{kNoBuffer, kNoBuffer, kNoBuffer, kNoBuffer};
  std::array<bool, kMaxParameters> accumulate{};
};

struct Plan {
  std::vector<Buffer> buffers;  // the fixed ones first
  std::size_t fixed_buffers = 0;
  std::vector<std::string> layers;
  std::vector<Instruction> instructions;
  std::vector<Binding> bindings;
  std::size_t samples = 0;  // of a part
  std::size_t parts = 1;
  std::size_t recomputed = 0;  // forward ops done once more
  // Operations on numbers, over all parts.
  std::uint64_t forward_flops = 0, backward_flops = 0, recomputed_flops = 0;
};

// Graph and choices must outlive nothing: the plan holds no reference to them.
Plan plan_training(const Graph& graph, const Fixed& fixed, const Choices& choices, const Schedule& schedule);
// With the schedule of choose_schedule(), which must have one for the choices: always, but for a budget.
Plan plan_training(const Graph& graph, const Fixed& fixed, const Choices& choices);
// One forward pass over `batch` samples with running statistics. Without no_grad everything is kept as if for a
// backward pass, until the loss has been read.
struct Evaluation {
  std::size_t batch = 1;
  bool no_grad = false;
};
Plan plan_evaluation(const Graph& graph, const Fixed& fixed, const Choices& choices, const Evaluation& evaluation);

// Smaller buffers are not worth a copy.
inline constexpr std::size_t kOffloadBytes = std::size_t{64} << 10;
// Rewrites a plan: activations and inputs of at least kOffloadBytes leave the device between their last reading in the
// forward pass and their first in the backward pass. Variables of the loop stay.
void offload_activations(Plan& plan);

// The largest sum of live bytes, each buffer rounded up to 512, over two executions one after the other.
std::uint64_t peak_live_bytes(const Plan& plan);
std::uint64_t fixed_bytes(const Plan& plan);

}  // namespace tidemark::trainer
