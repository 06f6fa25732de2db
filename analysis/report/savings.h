// SPDX-License-Identifier: Apache-2.0
// What tricks save, for people (text, Markdown, HTML) and programs (JSON; the keys are stable, docs/savings.md).
#pragma once
#include <string>
#include <vector>

#include "analysis/report/markup.h"
#include "analysis/report/text.h"
#include "analysis/savings/savings.h"

namespace tidemark::analysis::report {

std::string savings_text(const Savings& savings, const TextOptions& options);
std::string savings_markdown(const Savings& savings);
std::string savings_json(const Savings& savings);
// One page that needs nothing else: styles and charts are in it.
std::string savings_html(const Savings& savings);
// A picture of the peaks by kind, with the largest batch beside each.
std::string savings_svg(const Savings& savings);

// What the reports share. "3.25 %", "1.31", "12,288"; a dash where there is nothing.
struct SavingsWords {
  std::string trick, live, reserved, saved, percent, time, again, exact, batch, article;
};
enum class Unit : std::uint8_t { MiB, Own };  // all in one, or each in its own with its name
SavingsWords savings_words(const SavingsRow& row, Unit unit);
// "gpt 124m, 124,439,808 parameters, Adam, batch 4"
std::string savings_title(const Savings& savings);
// What the columns mean, a sentence each.
std::vector<std::string> savings_legend(const Savings& savings);
// Kinds that occur at any peak, in the order of every stack.
std::vector<KindColour> kinds_in(const Savings& savings);
// The rows whose promise was not kept.
std::vector<const SavingsRow*> broken_promises(const Savings& savings);

}  // namespace tidemark::analysis::report
