// SPDX-License-Identifier: Apache-2.0
// What `tidemark savings` compares, as two tables: models and tricks. A trick is a row: which flags of tidemark-train
// it stands for, what it is compared with, on which models it means something, and what it promises about gradients.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/savings/savings.h"

namespace tidemark::cli {

// A model in the two sizes it is measured in: the published one for bytes, the tiny one for time and bits.
struct SavingsModel {
  std::string_view name, size;
  std::uint64_t batch = 1;
  std::string_view numbers;  // of the published size, for values that are reckoned from them
  std::uint64_t tiny_batch = 1;
  std::string_view tiny_numbers, tiny_flags = "";
  std::uint64_t tiny_steps = 4;  // of a timed run
};

// What the founding article's formula makes of a trick.
enum class Article : std::uint8_t { Knows, HasNoTerm };

struct Trick {
  std::string_view name;
  std::string_view flags;  // beside those of the baseline
  analysis::Exactness exactness{};
  std::string_view models = "";    // names; empty: all
  std::string_view more = "";      // further flags of its own
  std::string_view baseline = "";  // name of another trick, whose flags it adds to; empty: the plain training
  std::string_view against = "";   // flags that the baseline has and the trick has not
  std::string_view pinned = "";    // flags of both where bits are compared
  std::uint64_t parts = 1;         // the batch is a multiple of it
  double tolerance = 0;            // of losses, relative
  Article article = Article::HasNoTerm;
};

std::span<const SavingsModel> savings_models();
const SavingsModel* find_savings_model(std::string_view name);
// In the order of the table, the plain training first.
std::vector<const Trick*> tricks_of(const SavingsModel& model);
// By its name among them.
const Trick* find_trick(std::string_view name);
// What every training is measured with, unless a trick says otherwise.
std::string_view plain_flags();

}  // namespace tidemark::cli
