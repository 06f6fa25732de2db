// SPDX-License-Identifier: Apache-2.0
// One run of tidemark-train under `tidemark run` on the software device: the command, and what is read of it
// afterwards. Bytes are read from the trace; the trainer's own words are about time, values and operations.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/savings/flags.h"
#include "cli/savings/pool.h"

namespace tidemark::cli {

// Where the programs are.
struct TrainerPlace {
  std::string tidemark, trainer;
};
// Beside the running program.
Result<TrainerPlace> find_trainer();

struct TrainerRun {
  Flags flags;
  bool execute = false;  // else a dry run
  std::string memory;    // of the device
  std::string trace;     // the file
};
Job trainer_job(std::size_t id, const TrainerPlace& place, const TrainerRun& run);

// What the trainer says.
struct TrainerSaid {
  std::uint64_t parameters = 0;
  double recompute_flops_ratio = 0;
  std::uint64_t module_outputs = 0, activation_outputs = 0, input_elements = 0;  // per sample; 0: not said
  bool executed = false;
  std::vector<double> losses, eval_losses;  // of an executed run
  std::uint64_t fastest_step_ns = 0;        // of processor, the first step apart
  std::string gradients_hash, weights_hash;
};
Result<TrainerSaid> read_said(const std::string& text);

// What the trace says.
struct TrainerPeaks {
  std::uint64_t live_bytes = 0, reserved_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> by_kind;
  std::string phase, layer;
  std::uint64_t context_bytes = 0;
  std::string device;
  bool out_of_memory = false;
};
Result<TrainerPeaks> read_peaks(const std::string& trace);

// The program's own words about why it failed.
Error trainer_failed(const TrainerRun& run, const JobEnd& end);

}  // namespace tidemark::cli
