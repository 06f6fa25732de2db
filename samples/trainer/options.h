// SPDX-License-Identifier: Apache-2.0
// tidemark-train's command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "samples/trainer/models.h"
#include "samples/trainer/plan.h"
#include "samples/trainer/session.h"

namespace tidemark::trainer {

struct Options {
  bool help = false;
  ModelSize model;  // the variables as the flags have changed them
  Choices choices;
  Settings settings;
  std::uint64_t steps = 10;
  bool dynamic_scale = false;
  bool evaluate = false;
  Evaluation evaluation;
  bool empty_cache = false;
  bool efficient_attention = false;
  std::size_t loss_rows = 0;  // --ce-chunk, 0: all at once
  bool json = false;
};

// Everything is checked here, before a device is touched: what is unknown, what does not fit together.
Result<Options> read_options(const std::vector<std::string>& arguments);
// The model's, with the tricks that change ops.
Result<Graph> make_graph(const Options& options);
std::string usage();

}  // namespace tidemark::trainer
