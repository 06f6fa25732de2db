// SPDX-License-Identifier: Apache-2.0
// Which schedule a training takes. The solver proposes (checkpoint_solver.h), and each proposal's plan is made and
// read: what is promised about a peak is true of the plan itself, to the byte.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "samples/trainer/plan.h"

namespace tidemark::trainer {

// Checkpoint::Optimal: of all schedules considered that recompute no more operations than Checkpoint::Sqrt, the one
// with the least peak. Checkpoint::Budget: of all whose peak is within the budget, the one that recomputes least; an
// error that names the least peak where there is none. Plain, segmented and solved schedules are considered.
Result<Schedule> choose_schedule(const Graph& graph, const Fixed& fixed, const Choices& choices);

}  // namespace tidemark::trainer
