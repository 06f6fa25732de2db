// SPDX-License-Identifier: Apache-2.0
// What rules of thumb count: the outputs of a model's modules, per sample. Nothing here is used for training.
#pragma once
#include <cstdint>

#include "samples/trainer/graph.h"

namespace tidemark::trainer {

// In elements. Additions, concatenations and the like are no modules of their own in the programs that such rules were
// made for; activations stand apart because those in place are not counted there.
struct ModuleOutputs {
  std::uint64_t modules = 0, activations = 0;
};
ModuleOutputs count_outputs(const Graph& graph);

}  // namespace tidemark::trainer
