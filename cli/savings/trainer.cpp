// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/trainer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/summarize.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The card that computes: what it is called matters to nobody, what it holds is said for each run.
constexpr const char* kDevice = "soft:a100-80g";

std::vector<double> numbers_of(const json& object, const char* key) {
  std::vector<double> numbers;
  auto const found = object.find(key);
  if (found == object.end() || !found->is_array()) return numbers;
  // A loss that is no number is none that agrees with another.
  for (json const& one : *found)
    numbers.push_back(one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

std::uint64_t fastest(const std::vector<double>& steps_ns) {
  if (steps_ns.empty()) return 0;
  auto const begin = steps_ns.begin() + (steps_ns.size() > 1 ? 1 : 0);
  return static_cast<std::uint64_t>(*std::min_element(begin, steps_ns.end()));
}

std::string text_of(const json& object, const char* key) {
  auto const found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<TrainerPlace> find_trainer() {
  std::error_code failure;
  fs::path const self = fs::read_symlink("/proc/self/exe", failure);
  fs::path const trainer = self.parent_path() / "tidemark-train";
  if (access(trainer.c_str(), X_OK) != 0)
    return Error{Errc::NotFound, "the reference trainer is not here: " + trainer.string(),
                 "build it: cmake --build --preset release --target demo"};
  return TrainerPlace{.tidemark = self, .trainer = trainer};
}

Job trainer_job(std::size_t id, const TrainerPlace& place, const TrainerRun& run) {
  Job job{.id = id,
          .words = {place.tidemark, "run", "--force", "-o", run.trace, "--device", kDevice, "--memory", run.memory,
                    run.execute ? "--execute" : "--dry-run", "--mode", "cache", "--", place.trainer},
          .environment = {"SOFTGPU_QUIET=1"}};
  // One thread: threads that wait for each other on a machine with other work measure that work.
  if (run.execute) job.environment.insert(job.environment.end(), {"SOFTGPU_WORKERS=1", "SOFTGPU_BLAS_THREADS=1"});
  for (std::string& word : run.flags.words()) job.words.push_back(std::move(word));
  job.words.insert(job.words.end(), {"--format", "json"});
  return job;
}

Result<TrainerSaid> read_said(const std::string& text) {
  json const object = json::parse(text, nullptr, false);
  if (!object.is_object()) return Error{Errc::Corrupt, "the trainer's summary cannot be read", "is it of this build?"};
  try {
    TrainerSaid said{.parameters = object.at("parameters").get<std::uint64_t>(),
                     .recompute_flops_ratio = object.at("recompute_flops_ratio").get<double>(),
                     .module_outputs = object.value("module_outputs", std::uint64_t{0}),
                     .activation_outputs = object.value("activation_outputs", std::uint64_t{0}),
                     .input_elements = object.value("input_elements", std::uint64_t{0}),
                     .executed = object.at("executed").get<bool>()};
    said.losses = numbers_of(object, "losses");
    said.eval_losses = numbers_of(object, "eval_losses");
    said.fastest_step_ns = fastest(numbers_of(object, "step_cpu_ns"));
    said.gradients_hash = text_of(object, "gradients_hash");
    said.weights_hash = text_of(object, "weights_hash");
    return said;
  } catch (const json::exception& failure) {
    return Error{Errc::Corrupt, std::string("the trainer's summary lacks something: ") + failure.what(),
                 "is it of this build?"};
  }
}

Result<TrainerPeaks> read_peaks(const std::string& path) {
  TIDEMARK_TRY(trace::Trace const trace, trace::Trace::open(path));
  TIDEMARK_TRY(analysis::Summary const summary, analysis::summarize(trace, {}));
  if (summary.source.lost_events != 0)
    return Error{Errc::Io, path + ": events could not be recorded", "is the disk full?"};
  TrainerPeaks peaks{.live_bytes = summary.peak_live_bytes,
                     .reserved_bytes = summary.peak_reserved_bytes,
                     .phase = summary.peak.phase,
                     .layer = summary.peak.layer,
                     .context_bytes = summary.ledger.context_bytes.value_or(0),
                     .device = summary.devices.empty() ? std::string() : summary.devices[0].name,
                     .out_of_memory = !summary.failures.empty()};
  for (analysis::Row const& row : summary.peak.by_kind)
    if (row.live_bytes > 0) peaks.by_kind.emplace_back(row.name, row.live_bytes);
  return peaks;
}

Error trainer_failed(const TrainerRun& run, const JobEnd& end) {
  std::string what = "tidemark-train " + run.flags.text() + ": ", hint;
  std::string reason = "it ended with code " + std::to_string(end.exit_code);
  for (std::size_t begin = 0; begin < end.err.size();) {
    std::size_t const stop = std::min(end.err.find('\n', begin), end.err.size());
    std::string const line = end.err.substr(begin, stop - begin);
    if (line.starts_with("error: ")) reason = line.substr(7);
    if (line.starts_with("hint: ")) hint = line.substr(6);
    begin = stop + 1;
  }
  return {Errc::Io, what + reason, hint};
}

}  // namespace tidemark::cli
