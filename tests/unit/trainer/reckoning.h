// SPDX-License-Identifier: Apache-2.0
// What a training step must take at its peak, reckoned without the trainer's plans: lifetimes of all buffers are
// written down as intervals of moments by the rules of docs/trainer.md, and summed. Only the graph is shared with the
// trainer.
#pragma once
#include <cstdint>
#include <vector>

#include "samples/trainer/graph.h"
#include "samples/trainer/plan.h"

namespace tidemark::trainer {

// Not reckoned: a pinned order (--reduce-chunk), and --inplace or --offload together with checkpoints. A schedule is
// given where passes come in an order that the choices alone do not say.
std::uint64_t reckon_peak(const Graph& graph, const Choices& choices, const Schedule* schedule = nullptr);

// Bytes, not rounded, that the forward pass leaves behind for the backward pass: outputs, inputs and extra buffers,
// without those of the loss itself.
std::uint64_t reckon_kept(const Graph& graph, std::size_t samples, Type type);

}  // namespace tidemark::trainer
