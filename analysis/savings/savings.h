// SPDX-License-Identifier: Apache-2.0
// What tricks save on one model, as plain data: what `tidemark savings` has measured and reports print.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::analysis {

// What a trick does to the gradients, and so to the training.
enum class Exactness : std::uint8_t {
  Baseline,    // it is what others are compared with
  Bits,        // the same bits
  PinnedBits,  // the same bits where the order of sums is pinned in both; else to rounding
  Tolerance,   // other roundings: losses agree to a tolerance
  OtherModel,  // another model, optimizer or batch: nothing to compare
};
// As JSON has it: "bit-identical".
std::string exactness_name(Exactness exactness);

struct SavingsRow {
  std::string trick;
  std::string flags;  // of the trainer, all of them
  Exactness exactness = Exactness::Baseline;
  std::string baseline;  // the row, or the flags, that it is compared with; empty: nothing
  // Of the full size, from the trace of a dry run.
  std::uint64_t peak_live_bytes = 0, peak_reserved_bytes = 0;
  std::uint64_t baseline_live_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> peak_by_kind;  // largest first
  std::string peak_phase, peak_layer;
  double recompute_flops_ratio = 0;  // of a step's products without the trick
  // Of the tiny size, computed.
  std::optional<double> slowdown;          // time of a step by its baseline's
  std::optional<double> loss_difference;   // largest of all steps, relative
  std::optional<bool> verified;            // the class above was found; nothing where there is nothing to compare
  std::optional<std::uint64_t> max_batch;  // 0: not even the smallest fits
  std::optional<std::uint64_t> article_max_batch;  // by article_peak_bytes; nothing where it has no term for the trick
  std::string trace;                               // the file's name, where it was kept

  std::int64_t saved_bytes() const {
    return static_cast<std::int64_t>(baseline_live_bytes) - static_cast<std::int64_t>(peak_live_bytes);
  }
  double saved_percent() const {
    return baseline_live_bytes == 0
               ? 0
               : 100.0 * static_cast<double>(saved_bytes()) / static_cast<double>(baseline_live_bytes);
  }
  bool is_baseline() const { return exactness == Exactness::Baseline; }
};

struct Savings {
  std::string model, size, tiny_size;
  std::uint64_t batch = 0, tiny_batch = 0;
  std::uint64_t parameters = 0;
  std::uint64_t budget_bytes = 0;
  std::string device;
  std::vector<SavingsRow> rows;  // the plain one first
};

// What the founding article 003 says that a training takes: parameters times n, outputs twice, and the input, all in
// elements of one type. It adds up what is never there at the same time, and knows neither sharing nor an allocator.
struct ArticleTerms {
  std::uint64_t parameters = 0;
  std::uint64_t copies = 4;   // n: 2 for SGD, 3 with momentum, 4 for Adam
  std::uint64_t outputs = 0;  // elements per sample of all modules' outputs
  std::uint64_t input = 0;    // elements per sample
  std::uint64_t element_bytes = 4;
};
std::uint64_t article_peak_bytes(const ArticleTerms& terms, std::uint64_t batch);
std::uint64_t article_max_batch(const ArticleTerms& terms, std::uint64_t budget_bytes);

}  // namespace tidemark::analysis
