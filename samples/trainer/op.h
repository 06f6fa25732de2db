// SPDX-License-Identifier: Apache-2.0
// The rules of an op: what it keeps for its backward pass, what it needs meanwhile, and the two functions. Rules are
// data that the plan reads; an op itself allocates nothing, frees nothing and knows no trick.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "samples/trainer/device.h"
#include "samples/trainer/graph.h"

namespace tidemark::trainer {

// A buffer beside the output: made by forward, and kept for backward or dropped after forward.
struct Extra {
  std::size_t size_bytes = 0;
  bool kept = true;
};
inline constexpr std::size_t kMaxExtras = 3;

// What sizes depend on.
struct Sizing {
  const Graph& graph;
  const Node& node;
  std::size_t samples = 0;
  Type type = Type::F32;
  std::size_t chunk = 0;  // --reduce-chunk: samples per matrix product and partial sum, 0: all
  const Shape& input(std::size_t i = 0) const { return graph.values[node.inputs[i]].shape; }
  const Shape& output() const { return graph.values[node.output].shape; }
};

// One call of an op. Addresses are null where the op has nothing there, or where it is not wanted (din).
struct Call {
  Device& device;
  Sizing sizing;
  std::size_t batch = 0;           // samples of the whole step, over which the loss is the mean
  std::uint64_t first_sample = 0;  // number of this call's first sample within the step
  std::uint64_t step = 0, seed = 0;
  float loss_scale = 1;
  bool training = true;           // or evaluation
  bool update_statistics = true;  // not when a forward pass is done again
  bool naive_sums = false;        // --naive-fp16: the loss is summed in half

  std::array<void*, kMaxInputs> in{};
  void* out = nullptr;
  std::array<void*, kMaxExtras> extra{};
  std::array<float*, kMaxParameters> parameter{};  // in float
  std::array<void*, kMaxParameters> weight{};  // the working copy in the activations' type, or the same as parameter
  std::array<float*, 2> statistic{};
  void* workspace = nullptr;

  const void* dout = nullptr;
  std::array<void*, kMaxInputs> din{};
  std::array<float*, kMaxParameters> dparameter{};
  std::array<bool, kMaxParameters> accumulate{};  // add to the gradient that is there

  const Node& node() const { return sizing.node; }
  std::size_t samples() const { return sizing.samples; }
  Type type() const { return sizing.type; }
  std::size_t chunk() const { return sizing.chunk; }
  cudaStream_t stream() const { return device.stream(); }
};

struct Rules {
  const char* name;
  std::array<bool, kMaxInputs> keeps_input{};
  bool keeps_output = false;
  // Forward may write its output over its first input, elementwise; the plan decides where nobody else needs that.
  bool in_place = false;
  // The gradient of each input is the output's own: backward is not called at all.
  bool passes_gradient = false;
  std::vector<Extra> (*extras)(const Sizing&) = nullptr;
  std::size_t (*forward_workspace)(const Sizing&) = nullptr;
  std::size_t (*backward_workspace)(const Sizing&) = nullptr;
  void (*forward)(Call&) = nullptr;
  void (*backward)(Call&) = nullptr;
};

const Rules& rules_of(const Node& node);

// Operations on numbers of all samples' passes (flops.cpp).
std::uint64_t forward_flops(const Sizing& sizing);
std::uint64_t backward_flops(const Sizing& sizing);
// What the efficient forms compute again in their backward pass.
std::uint64_t repeated_flops(const Sizing& sizing);

// Convolutions turn windows into matrices of at most so many bytes at a time, or one row of windows where that is more.
inline constexpr std::size_t kWorkspaceLimit = std::size_t{4} << 20;

}  // namespace tidemark::trainer
