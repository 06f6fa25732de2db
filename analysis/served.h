// SPDX-License-Identifier: Apache-2.0
// What the caches of a served program held and did, and which blocks kept their free memory apart. Empty for a program
// that was only observed.
#pragma once
#include <optional>

#include "analysis/filter.h"
#include "analysis/history.h"
#include "analysis/summary.h"

namespace tidemark::analysis {

std::optional<CacheSummary> summarize_caches(const History& history, const Selection& selection);
std::vector<LateFreeRow> late_free_rows(const History& history, const Selection& selection);

}  // namespace tidemark::analysis
