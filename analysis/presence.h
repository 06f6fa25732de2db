// SPDX-License-Identifier: Apache-2.0
// Whether a trace has what a question names: a step, a device, a layer. Where it does not, what it has instead is the
// hint: a report of nothing would leave the reader to guess.
#pragma once
#include <string>

#include "analysis/filter.h"
#include "base/result.h"

namespace tidemark::analysis {

struct Presence {
  std::string path;  // of the trace
  std::size_t devices = 0;
};

Result<void> expect_present(const History& history, const Filter& filter, const Presence& presence);
// The steps of which there are events, in words.
std::string steps_in_words(const History& history);
// The first of them in History::steps: those before are what was left of earlier ones.
std::size_t first_whole_step(const History& history);

}  // namespace tidemark::analysis
