// SPDX-License-Identifier: Apache-2.0
// What is alive at one instant, and whose it is.
#pragma once
#include "analysis/summary.h"
#include "analysis/walk.h"

namespace tidemark::analysis {

// `largest`: how many single blocks to name.
Anatomy dissect(const History& history, const Selection& selection, const Baselines& baselines, Instant instant,
                std::size_t largest);

}  // namespace tidemark::analysis
