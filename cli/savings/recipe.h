// SPDX-License-Identifier: Apache-2.0
// From a row of the table of tricks to the trainer's flags.
#pragma once
#include "cli/savings/flags.h"
#include "cli/savings/tricks.h"

namespace tidemark::cli {

enum class Side : std::uint8_t { Full, Tiny };

struct Recipe {
  const SavingsModel* model = nullptr;
  const Trick* trick = nullptr;
  Side side = Side::Full;
  bool baseline = false;  // what the trick is compared with, instead of itself
  bool pinned = false;    // with the flags that pin the order of sums
};

// The batch is the model's own where none is given.
Result<Flags> flags_of(const Recipe& recipe, std::uint64_t batch = 0);

}  // namespace tidemark::cli
