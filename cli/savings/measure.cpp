// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/measure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "analysis/savings/largest_batch.h"
#include "base/bytes.h"
#include "cli/savings/recipe.h"

namespace tidemark::cli {
namespace {

using analysis::Exactness;
using analysis::LargestBatch;
using analysis::SavingsRow;

// The most that a software device can have; a dry run touches none of it.
constexpr const char* kAnyMemory = "512GiB";
// The loop's variables of a step outlive it: the second step is the one with the peak.
constexpr const char* kDrySteps = "2";
// Others use the machine too: the fastest step of several runs counts.
constexpr int kRounds = 3;
constexpr const char* kExactSteps = "3";

// A set of flags that is run, once for all rows that need it.
struct Full {
  Recipe recipe;
  std::string name, trace;
  TrainerPeaks peaks;
  TrainerSaid said;
  std::optional<LargestBatch> search;
};
struct Tiny {
  Flags flags;
  std::string name;
  bool timed = false;
  TrainerSaid said;
  std::uint64_t fastest_ns = 0;
};
// Which of them a row is made from.
struct RowPlan {
  const Trick* trick = nullptr;
  std::size_t full = 0, full_baseline = 0;
  std::size_t tiny = 0, tiny_baseline = 0;    // for time
  std::size_t exact = 0, exact_baseline = 0;  // for bits
};

class Measurement {
 public:
  Measurement(const SavingsRequest& request, Pool& pool, Progress& progress)
      : request_(request), pool_(pool), progress_(progress) {}
  Result<analysis::Savings> run();

 private:
  Result<void> plan();
  Result<std::size_t> full_of(const Recipe& recipe);
  Result<std::size_t> tiny_of(const Recipe& recipe, bool timed);
  template <class Next, class Done>
  Result<void> work(std::size_t places, Next next, Done done);
  Result<void> measure_bytes();
  Result<void> search_batches();
  Result<void> measure_time();
  Result<TrainerRun> trial(const Full& full, std::uint64_t batch, std::size_t id) const;
  Result<void> tried(Full& full, const TrainerRun& run, const JobEnd& end);
  Result<void> fits_at_all() const;
  SavingsRow row_of(const RowPlan& plan) const;
  void compare(const RowPlan& plan, SavingsRow& row) const;
  std::optional<std::uint64_t> by_article(const RowPlan& plan) const;

  const SavingsRequest& request_;
  Pool& pool_;
  Progress& progress_;
  std::vector<RowPlan> rows_;
  std::vector<Full> full_;
  std::vector<Tiny> tiny_;
  std::map<std::string, std::size_t> full_places_, tiny_places_;
};

// ---- which runs there are
// --------------------------------------------------------------------------------------------

Result<std::size_t> Measurement::full_of(const Recipe& recipe) {
  TIDEMARK_TRY(Flags const flags, flags_of(recipe));
  auto const [place, is_new] = full_places_.emplace(flags.text(), full_.size());
  if (is_new) {
    std::string const name = (recipe.baseline ? "without " : "") + std::string(recipe.trick->name);
    full_.push_back({.recipe = recipe, .name = name, .trace = file_name_of(name) + ".tide"});
  }
  return place->second;
}

Result<std::size_t> Measurement::tiny_of(const Recipe& recipe, bool timed) {
  TIDEMARK_TRY(Flags flags, flags_of(recipe));
  flags.set("--steps", timed ? std::to_string(request_.model.tiny_steps) : kExactSteps);
  auto const [place, is_new] = tiny_places_.emplace(flags.text(), tiny_.size());
  if (is_new) tiny_.push_back({.flags = flags, .name = std::string(recipe.trick->name)});
  tiny_[place->second].timed |= timed;
  return place->second;
}

Result<void> Measurement::plan() {
  for (const Trick* const trick : tricks_of(request_.model)) {
    RowPlan row{.trick = trick};
    Recipe const full{.model = &request_.model, .trick = trick};
    Recipe full_baseline = full, tiny = full;
    full_baseline.baseline = true;
    tiny.side = Side::Tiny;
    Recipe tiny_baseline = tiny;
    tiny_baseline.baseline = true;
    for (auto const& [into, found] : {std::pair{&row.full, full_of(full)},
                                      {&row.full_baseline, full_of(full_baseline)},
                                      {&row.tiny, tiny_of(tiny, true)},
                                      {&row.tiny_baseline, tiny_of(tiny_baseline, true)}}) {
      if (!found.ok()) return found.error();
      *into = *found;
    }
    row.exact = row.tiny;
    row.exact_baseline = row.tiny_baseline;
    if (!trick->pinned.empty()) {
      tiny.pinned = tiny_baseline.pinned = true;
      auto const exact = tiny_of(tiny, false), exact_baseline = tiny_of(tiny_baseline, false);
      if (!exact.ok()) return exact.error();
      if (!exact_baseline.ok()) return exact_baseline.error();
      row.exact = *exact;
      row.exact_baseline = *exact_baseline;
    }
    rows_.push_back(row);
  }
  return {};
}

// ---- running them
// ----------------------------------------------------------------------------------------------------

// As many at a time as there are places: `next` gives a job, or nothing for now; `done` takes its end.
template <class Next, class Done>
Result<void> Measurement::work(std::size_t places, Next next, Done done) {
  for (;;) {
    while (pool_.running() < places) {
      TIDEMARK_TRY(std::optional<Job> const job, next());
      if (!job) break;
      if (auto started = pool_.start(*job); !started.ok()) return started.error();
    }
    if (pool_.running() == 0) return {};
    TIDEMARK_TRY(JobEnd const end, pool_.wait());
    progress_.step();
    if (auto taken = done(end); !taken.ok()) return taken.error();
  }
}

Result<void> Measurement::measure_bytes() {
  progress_.begin("bytes of " + std::string(request_.model.name) + " " + std::string(request_.model.size),
                  full_.size());
  std::vector<TrainerRun> runs;
  for (Full const& full : full_) {
    TIDEMARK_TRY(Flags flags, flags_of(full.recipe));
    flags.set("--steps", kDrySteps);
    runs.push_back({.flags = flags, .memory = kAnyMemory, .trace = request_.folder + "/" + full.trace});
  }
  std::size_t at = 0;
  auto const next = [&]() -> Result<std::optional<Job>> {
    if (at == full_.size()) return std::optional<Job>();
    progress_.doing(full_[at].name);
    std::size_t const id = at++;
    return std::optional<Job>(trainer_job(id, request_.place, runs[id]));
  };
  return work(request_.places, next, [&](const JobEnd& end) -> Result<void> {
    Full& full = full_[end.id];
    if (end.exit_code != 0) return trainer_failed(runs[end.id], end);
    TIDEMARK_TRY(full.said, read_said(end.out));
    TIDEMARK_TRY(full.peaks, read_peaks(runs[end.id].trace));
    return {};
  });
}

Result<TrainerRun> Measurement::trial(const Full& full, std::uint64_t batch, std::size_t id) const {
  TIDEMARK_TRY(Flags flags, flags_of(full.recipe, batch));
  flags.set("--steps", kDrySteps);
  return TrainerRun{.flags = flags,
                    .memory = std::to_string(request_.budget_bytes),
                    .trace = request_.folder + "/trial-" + std::to_string(id) + ".tide"};
}

Result<void> Measurement::tried(Full& full, const TrainerRun& run, const JobEnd& end) {
  auto const peaks = read_peaks(run.trace);
  std::error_code ignored;
  std::filesystem::remove(run.trace, ignored);
  std::uint64_t const batch = *full.search->next();
  if (end.exit_code == 0) {
    if (!peaks.ok()) return peaks.error();
    full.search->fits(batch, peaks->reserved_bytes);
    return {};
  }
  if (!peaks.ok() || !peaks->out_of_memory) return trainer_failed(run, end);
  full.search->does_not_fit(batch);
  return {};
}

// All searches go on beside each other, each with one trial at a time.
Result<void> Measurement::search_batches() {
  constexpr std::size_t kUsualTrials = 4;
  std::vector<std::size_t> searched;
  for (RowPlan const& row : rows_) {
    Full& full = full_[row.full];
    if (full.search) continue;
    std::uint64_t const context = std::min(full.peaks.context_bytes, request_.budget_bytes / 8);
    full.search.emplace(LargestBatch::Question{
        .budget_bytes = request_.budget_bytes - context, .first = request_.model.batch, .multiple = row.trick->parts});
    searched.push_back(row.full);
  }
  progress_.begin("largest batch in " + format_bytes({request_.budget_bytes}), searched.size() * kUsualTrials);
  std::map<std::size_t, TrainerRun> tries;
  auto const next = [&]() -> Result<std::optional<Job>> {
    for (std::size_t const id : searched) {
      Full& full = full_[id];
      auto const batch = full.search->next();
      if (!batch || tries.contains(id)) continue;
      progress_.doing(full.name + ", " + std::to_string(*batch) + " samples");
      TIDEMARK_TRY(TrainerRun run, trial(full, *batch, id));
      Job job = trainer_job(id, request_.place, run);
      tries.emplace(id, std::move(run));
      return std::optional<Job>(std::move(job));
    }
    return std::optional<Job>();
  };
  return work(request_.places, next, [&](const JobEnd& end) -> Result<void> {
    auto const run = tries.extract(end.id);
    return tried(full_[end.id], run.mapped(), end);
  });
}

// Computed, and so one at a time: they would share the cores, and the times be those of two.
Result<void> Measurement::measure_time() {
  std::vector<std::size_t> order;
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < tiny_.size(); ++i)
      if (tiny_[i].timed || round == 0) order.push_back(i);
  progress_.begin("time and bits of " + std::string(request_.model.name) + " tiny", order.size());
  std::vector<TrainerRun> runs;
  for (std::size_t i = 0; i < tiny_.size(); ++i)
    runs.push_back({.flags = tiny_[i].flags,
                    .execute = true,
                    .memory = "16GiB",
                    .trace = request_.folder + "/tiny-" + std::to_string(i) + ".tide"});
  std::size_t at = 0;
  auto const next = [&]() -> Result<std::optional<Job>> {
    if (at == order.size()) return std::optional<Job>();
    std::size_t const id = order[at++];
    progress_.doing(tiny_[id].name);
    return std::optional<Job>(trainer_job(id, request_.place, runs[id]));
  };
  return work(1, next, [&](const JobEnd& end) -> Result<void> {
    Tiny& tiny = tiny_[end.id];
    std::error_code ignored;
    std::filesystem::remove(runs[end.id].trace, ignored);
    if (end.exit_code != 0) return trainer_failed(runs[end.id], end);
    TIDEMARK_TRY(tiny.said, read_said(end.out));
    if (!tiny.said.executed)
      return Error{Errc::Unsupported, "the tiny size was not computed: the kernels' CPU bodies are not here",
                   "build them: cmake --build --preset release --target demo"};
    std::uint64_t const ns = tiny.said.fastest_step_ns;
    tiny.fastest_ns = tiny.fastest_ns == 0 ? ns : std::min(tiny.fastest_ns, ns);
    return {};
  });
}

// ---- rows
// ------------------------------------------------------------------------------------------------------------

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const d = std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), 1e-12);
    largest = std::isfinite(d) ? std::max(largest, d) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

// The promise of the row's class, against what was computed.
void Measurement::compare(const RowPlan& plan, SavingsRow& row) const {
  const TrainerSaid &own = tiny_[plan.exact].said, &other = tiny_[plan.exact_baseline].said;
  if (plan.trick->exactness == Exactness::Baseline || plan.trick->exactness == Exactness::OtherModel) return;
  row.loss_difference = std::max(difference(own.losses, other.losses), difference(own.eval_losses, other.eval_losses));
  bool const same_bits = !own.weights_hash.empty() && !own.gradients_hash.empty() &&
                         own.weights_hash == other.weights_hash && own.gradients_hash == other.gradients_hash;
  switch (plan.trick->exactness) {
    case Exactness::Bits: row.verified = same_bits && *row.loss_difference == 0; break;
    case Exactness::PinnedBits: row.verified = same_bits; break;
    default: row.verified = *row.loss_difference <= plan.trick->tolerance; break;
  }
}

std::optional<std::uint64_t> Measurement::by_article(const RowPlan& plan) const {
  if (plan.trick->article == Article::HasNoTerm) return std::nullopt;
  Full const& full = full_[plan.full];
  auto const flags = flags_of(full.recipe);
  if (!flags.ok() || full.said.module_outputs == 0) return std::nullopt;
  std::string_view const optimizer = flags->value("--optimizer");
  bool const half = flags->has("--precision") && flags->value("--precision") != "fp32";
  // Outputs of activations in place are not counted by the article's own program.
  std::uint64_t const outputs = full.said.module_outputs + (flags->has("--inplace") ? 0 : full.said.activation_outputs);
  analysis::ArticleTerms const terms{.parameters = full.said.parameters,
                                     .copies = optimizer == "sgd"        ? 2u
                                               : optimizer == "momentum" ? 3u
                                                                         : 4u,
                                     .outputs = outputs,
                                     .input = full.said.input_elements,
                                     .element_bytes = half ? 2u : 4u};
  return analysis::article_max_batch(terms, request_.budget_bytes) * plan.trick->parts;
}

SavingsRow Measurement::row_of(const RowPlan& plan) const {
  Full const &full = full_[plan.full], &baseline = full_[plan.full_baseline];
  SavingsRow row{.trick = std::string(plan.trick->name),
                 .exactness = plan.trick->exactness,
                 .peak_live_bytes = full.peaks.live_bytes,
                 .peak_reserved_bytes = full.peaks.reserved_bytes,
                 .baseline_live_bytes = baseline.peaks.live_bytes,
                 .peak_by_kind = full.peaks.by_kind,
                 .peak_phase = full.peaks.phase,
                 .peak_layer = full.peaks.layer,
                 .recompute_flops_ratio = full.said.recompute_flops_ratio,
                 .max_batch = full.search->answer(),
                 .article_max_batch = by_article(plan),
                 .trace = full.trace};
  if (auto const flags = flags_of(full.recipe); flags.ok()) row.flags = flags->text();
  if (plan.trick->exactness != Exactness::Baseline)
    row.baseline = !plan.trick->against.empty()    ? std::string(plan.trick->against)
                   : !plan.trick->baseline.empty() ? std::string(plan.trick->baseline)
                                                   : "plain";
  Tiny const &tiny = tiny_[plan.tiny], &tiny_baseline = tiny_[plan.tiny_baseline];
  if (tiny_baseline.fastest_ns > 0)
    row.slowdown = static_cast<double>(tiny.fastest_ns) / static_cast<double>(tiny_baseline.fastest_ns);
  compare(plan, row);
  return row;
}

Result<void> Measurement::fits_at_all() const {
  for (RowPlan const& row : rows_)
    if (full_[row.full].search->answer() > 0) return {};
  return Error{Errc::LimitExceeded,
               "--budget " + format_bytes({request_.budget_bytes}) + ": not even the smallest batch of " +
                   std::string(request_.model.name) + " " + std::string(request_.model.size) + " fits, with any trick",
               "a larger budget, or a smaller model"};
}

Result<analysis::Savings> Measurement::run() {
  if (auto planned = plan(); !planned.ok()) return planned.error();
  if (auto done = measure_bytes(); !done.ok()) return done.error();
  if (auto done = search_batches(); !done.ok()) return done.error();
  if (auto fits = fits_at_all(); !fits.ok()) return fits.error();
  if (auto done = measure_time(); !done.ok()) return done.error();
  progress_.end();
  Full const& plain = full_[rows_[0].full];
  analysis::Savings savings{.model = std::string(request_.model.name),
                            .size = std::string(request_.model.size),
                            .tiny_size = "tiny",
                            .batch = request_.model.batch,
                            .tiny_batch = request_.model.tiny_batch,
                            .parameters = plain.said.parameters,
                            .budget_bytes = request_.budget_bytes,
                            .device = plain.peaks.device};
  for (RowPlan const& row : rows_) savings.rows.push_back(row_of(row));
  return savings;
}

}  // namespace

Result<analysis::Savings> measure_savings(const SavingsRequest& request, Pool& pool, Progress& progress) {
  return Measurement(request, pool, progress).run();
}

std::string file_name_of(std::string_view trick) {
  std::string name;
  for (char const c : trick) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    bool const capital = c >= 'A' && c <= 'Z';
    if (letter || capital)
      name += static_cast<char>(capital ? c - 'A' + 'a' : c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace tidemark::cli
