// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/savings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/report/page.h"
#include "analysis/report/table.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr const char* kNothing = "-";

std::string in_mib(std::int64_t bytes) {
  double const mib = static_cast<double>(bytes) / (1 << 20);
  if (bytes != 0 && std::abs(mib) < 0.05) return bytes < 0 ? "-<0.1" : "<0.1";
  if (std::abs(mib) < 1000) return fmt::format("{:.1f}", mib);
  auto const whole = static_cast<std::uint64_t>(std::llround(std::abs(mib)));
  return (bytes < 0 ? "-" : "") + count_text(whole);
}

std::string size_text(std::int64_t bytes, Unit unit) {
  if (unit == Unit::MiB) return in_mib(bytes);
  return (bytes < 0 ? "-" : "") + bytes_text(static_cast<std::uint64_t>(std::abs(bytes)));
}

std::string exact_text(const SavingsRow& row) {
  if (row.verified == false) return "NO";
  switch (row.exactness) {
    case Exactness::Baseline: return kNothing;
    case Exactness::Bits: return "bits";
    case Exactness::PinnedBits: return "bits*";
    case Exactness::Tolerance:
      return row.loss_difference.value_or(0) == 0 ? "0" : fmt::format("{:.0e}", *row.loss_difference);
    case Exactness::OtherModel: return "other";
  }
  return kNothing;
}

std::string again_text(double ratio) {
  return ratio <= 0 ? kNothing : ratio < 0.005 ? "<1 %" : fmt::format("{:.0f} %", 100 * ratio);
}

std::string batch_text(const std::optional<std::uint64_t>& batch) {
  return !batch ? kNothing : *batch == 0 ? "none" : count_text(*batch);
}

}  // namespace

SavingsWords savings_words(const SavingsRow& row, Unit unit) {
  SavingsWords w{.trick = clean(row.trick),
                 .live = size_text(static_cast<std::int64_t>(row.peak_live_bytes), unit),
                 .reserved = size_text(static_cast<std::int64_t>(row.peak_reserved_bytes), unit),
                 .saved = kNothing,
                 .percent = kNothing,
                 .time = row.slowdown ? fmt::format("{:.2f}", *row.slowdown) : kNothing,
                 .again = again_text(row.recompute_flops_ratio),
                 .exact = exact_text(row),
                 .batch = batch_text(row.max_batch),
                 .article = batch_text(row.article_max_batch)};
  if (row.is_baseline()) return w;
  w.saved = size_text(row.saved_bytes(), unit);
  // A rounding of less than half a thousandth is no minus zero.
  double const percent = row.saved_percent();
  w.percent = fmt::format("{:.1f}", std::abs(percent) < 0.05 ? 0.0 : percent);
  return w;
}

std::string savings_title(const Savings& s) {
  return fmt::format("{} {}: {} parameters, batch {}, in {}", clean(s.model), clean(s.size), count_text(s.parameters),
                     s.batch, bytes_text(s.budget_bytes));
}

std::vector<std::string> savings_legend(const Savings& s) {
  std::vector<std::string> lines{
      fmt::format("live, reserved: peaks of the published size at batch {}, from traces of dry runs on the software "
                  "device; saved: of live, against the plain training or what the trick does without.",
                  s.batch),
      fmt::format("time: processor time of a step of the {} size at batch {} by its baseline's; again: operations "
                  "computed twice, of all operations of a step.",
                  clean(s.tiny_size), s.tiny_batch),
      "exact: gradients and weights after some steps have the same bits; bits*: where sums are pinned to one order in "
      "both; a number: how far losses are apart; other: another model or optimizer.",
      fmt::format("batch: the largest that trains in {}, the next larger one ran out of memory; by 003: what the "
                  "founding article's formula would say, where it has a term for the trick.",
                  bytes_text(s.budget_bytes))};
  for (const SavingsRow* const row : broken_promises(s))
    lines.push_back(
        fmt::format("NO: {} was to be {}, and was not.", clean(row->trick), exactness_name(row->exactness)));
  return lines;
}

std::vector<KindColour> kinds_in(const Savings& s) {
  std::vector<KindColour> kinds;
  for (KindColour const& kind : kKindColours) {
    auto const has = [&](const SavingsRow& row) {
      return std::any_of(row.peak_by_kind.begin(), row.peak_by_kind.end(),
                         [&](const auto& k) { return k.first == kind.name && k.second > 0; });
    };
    if (std::any_of(s.rows.begin(), s.rows.end(), has)) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<const SavingsRow*> broken_promises(const Savings& s) {
  std::vector<const SavingsRow*> rows;
  for (SavingsRow const& row : s.rows)
    if (row.verified == false) rows.push_back(&row);
  return rows;
}

std::string savings_text(const Savings& s, const TextOptions& options) {
  Page page(options);
  page.heading(savings_title(s));
  page.gap();
  Table table(page, {{"trick", false},
                     {"live MiB"},
                     {"reserved"},
                     {"saved"},
                     {"%"},
                     {"time"},
                     {"again"},
                     {"exact"},
                     {"batch"},
                     {"by 003"}});
  for (SavingsRow const& row : s.rows) {
    SavingsWords const w = savings_words(row, Unit::MiB);
    table.row({w.trick, w.live, w.reserved, w.saved, w.percent, w.time, w.again, w.exact, w.batch, w.article});
  }
  table.print();
  page.gap();
  for (std::string const& line : savings_legend(s)) page.line(line, 2, Ink::Dim);
  return page.take();
}

std::string savings_markdown(const Savings& s) {
  std::string text = "### " + savings_title(s) + "\n\n";
  text += "| trick | peak live | peak reserved | saved | saved % | time | again | exact | largest batch | by 003 |\n";
  text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (SavingsRow const& row : s.rows) {
    SavingsWords const w = savings_words(row, Unit::Own);
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", w.trick, w.live, w.reserved, w.saved,
                        w.percent, w.time, w.again, w.exact, w.batch, w.article);
  }
  text += "\n";
  for (std::string const& line : savings_legend(s)) text += "- " + line + "\n";
  return text;
}

std::string savings_json(const Savings& s) {
  using Json = nlohmann::ordered_json;
  auto const or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json rows = Json::array();
  for (SavingsRow const& r : s.rows) {
    Json kinds = Json::object();
    for (auto const& [kind, bytes] : r.peak_by_kind) kinds[kind] = bytes;
    rows.push_back({{"trick", r.trick},
                    {"baseline", r.baseline.empty() ? Json(nullptr) : Json(r.baseline)},
                    {"peak_live_bytes", r.peak_live_bytes},
                    {"peak_reserved_bytes", r.peak_reserved_bytes},
                    {"saved_bytes", r.saved_bytes()},
                    {"saved_percent", r.saved_percent()},
                    {"slowdown", or_null(r.slowdown)},
                    {"recompute_flops_ratio", r.recompute_flops_ratio},
                    {"exactness", exactness_name(r.exactness)},
                    {"max_batch", or_null(r.max_batch)},
                    {"article_max_batch", or_null(r.article_max_batch)},
                    {"verified", or_null(r.verified)},
                    {"loss_difference",
                     r.loss_difference && std::isfinite(*r.loss_difference) ? Json(*r.loss_difference) : Json(nullptr)},
                    {"flags", r.flags},
                    {"peak_phase", r.peak_phase},
                    {"peak_layer", r.peak_layer},
                    {"peak_by_kind", kinds},
                    {"trace", r.trace.empty() ? Json(nullptr) : Json(r.trace)}});
  }
  Json const all = {{"model", s.model},
                    {"budget_bytes", s.budget_bytes},
                    {"rows", rows},
                    {"size", s.size},
                    {"batch", s.batch},
                    {"parameters", s.parameters},
                    {"tiny_size", s.tiny_size},
                    {"tiny_batch", s.tiny_batch},
                    {"device", s.device}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tidemark::analysis::report
