// SPDX-License-Identifier: Apache-2.0
// Measures what tricks save on a model: a dry run of the published size for bytes, dry runs on a device of the budget's
// size for the largest batch, and computed runs of the tiny size, one at a time, for time and bits.
#pragma once
#include <string>

#include "analysis/savings/savings.h"
#include "base/result.h"
#include "cli/savings/pool.h"
#include "cli/savings/progress.h"
#include "cli/savings/trainer.h"
#include "cli/savings/tricks.h"

namespace tidemark::cli {

struct SavingsRequest {
  const SavingsModel& model;
  std::uint64_t budget_bytes = 0;
  std::string folder;  // where traces go
  TrainerPlace place;
  std::size_t places = 1;  // dry runs beside each other
};

Result<analysis::Savings> measure_savings(const SavingsRequest& request, Pool& pool, Progress& progress);

// "checkpoints, sqrt(N)" is "checkpoints-sqrt-n": a file's name.
std::string file_name_of(std::string_view trick);

}  // namespace tidemark::cli
