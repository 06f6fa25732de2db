// SPDX-License-Identifier: Apache-2.0
// The page: three charts of bars that share their rows (bytes by kind, largest batch, time), then the table. Bars are
// plain boxes whose widths are shares, so that the page needs no script and prints as it looks.
#include <fmt/core.h>

#include <algorithm>

#include "analysis/report/markup.h"
#include "analysis/report/savings.h"
#include "analysis/report/words.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #656d76; --paper: #ffffff; --line: #d0d7de; --bar: #0072b2; --old: #b9c4cf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9aa4af; --paper: #14181d; --line: #30363d; --bar: #56b4e9; --old: #4b5560; } }
body { font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 68rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; }
p { margin: .3rem 0; } .dim { color: var(--dim); }
.lead { font-size: 1.15rem; margin-top: .8rem; } .lead b { font-size: 1.35rem; }
.chart { display: grid; grid-template-columns: max-content 1fr max-content; gap: .22rem .8rem; align-items: center; font-variant-numeric: tabular-nums; }
.chart .name { text-align: right; } .chart .figure { text-align: right; color: var(--dim); white-space: nowrap; }
.track { position: relative; height: 1.05rem; display: flex; border-radius: 2px; }
.track i { display: block; height: 100%; box-sizing: border-box; border-right: 1px solid var(--paper); }
.track u { position: absolute; top: -.12rem; bottom: -.12rem; width: 0; border-left: 2px dotted var(--dim); }
.legend span { display: inline-block; margin-right: 1.1rem; } .legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; vertical-align: -1px; border-radius: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .22rem .5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; } th { color: var(--dim); font-weight: 600; }
th:first-child, td:first-child { text-align: left; } td.bad { color: #d55e00; font-weight: 700; }
td:first-child { cursor: help; } ul { color: var(--dim); padding-left: 1.2rem; }
@media (max-width: 48rem) { .scroll { overflow-x: auto; } }
)";

double share(double part, double whole) {
  return whole <= 0 ? 0 : 100.0 * part / whole;
}

std::string bar(std::string_view colour, double percent, std::string_view title) {
  if (percent <= 0) return "";
  return fmt::format("<i style=\"width:{:.3f}%;background:{}\" title=\"{}\"></i>", percent, colour, title);
}

std::string line(const SavingsRow& row, const std::string& track, const std::string& figure) {
  return fmt::format("<div class=\"name\">{}</div><div class=\"track\">{}</div><div class=\"figure\">{}</div>\n",
                     escaped(row.trick), track, figure);
}

std::string kinds_legend(const Savings& s) {
  std::string text = "<p class=\"legend\">";
  for (KindColour const& k : kinds_in(s))
    text += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", k.colour, k.name);
  return text + "</p>\n";
}

// What is alive at the peak; the dotted line is the budget.
std::string bytes_chart(const Savings& s) {
  std::uint64_t most = 1;
  for (SavingsRow const& row : s.rows) most = std::max(most, row.peak_live_bytes);
  bool const budget_shown = s.budget_bytes <= most;
  std::string text = "<h2>What is alive at the peak</h2>\n" + kinds_legend(s) + "<div class=\"chart\">\n";
  for (SavingsRow const& row : s.rows) {
    std::string track;
    for (KindColour const& kind : kKindColours)
      for (auto const& [name, bytes] : row.peak_by_kind)
        if (name == kind.name)
          track += bar(kind.colour, share(static_cast<double>(bytes), static_cast<double>(most)),
                       fmt::format("{}: {}", kind.name, bytes_text(bytes)));
    if (budget_shown)
      track += fmt::format("<u style=\"left:{:.3f}%\" title=\"{}\"></u>",
                           share(static_cast<double>(s.budget_bytes), static_cast<double>(most)),
                           bytes_text(s.budget_bytes));
    text += line(row, track, bytes_text(row.peak_live_bytes));
  }
  text += "</div>\n";
  if (budget_shown) text += fmt::format("<p class=\"dim\">Dotted: the budget, {}.</p>\n", bytes_text(s.budget_bytes));
  return text;
}

std::string batch_chart(const Savings& s) {
  std::uint64_t most = 1;
  for (SavingsRow const& row : s.rows) most = std::max(most, row.max_batch.value_or(0));
  std::string text =
      fmt::format("<h2>The largest batch in {}</h2>\n<div class=\"chart\">\n", bytes_text(s.budget_bytes));
  for (SavingsRow const& row : s.rows) {
    double const percent = share(static_cast<double>(row.max_batch.value_or(0)), static_cast<double>(most));
    text += line(row, bar(row.is_baseline() ? "var(--old)" : "var(--bar)", percent, escaped(row.flags)),
                 savings_words(row, Unit::Own).batch);
  }
  return text + "</div>\n";
}

std::string time_chart(const Savings& s) {
  double most = 1;
  for (SavingsRow const& row : s.rows) most = std::max(most, row.slowdown.value_or(0));
  std::string text = fmt::format(
      "<h2>Time of a step, by its baseline's</h2>\n<p class=\"dim\">The {} size, its processor time on "
      "this machine. Dotted: as fast as the baseline.</p>\n<div class=\"chart\">\n",
      escaped(s.tiny_size));
  for (SavingsRow const& row : s.rows) {
    if (!row.slowdown) continue;
    std::string track = bar(row.is_baseline() ? "var(--old)" : "var(--bar)", share(*row.slowdown, most), "");
    track += fmt::format("<u style=\"left:{:.3f}%\"></u>", share(1, most));
    text += line(row, track, fmt::format("{:.2f}", *row.slowdown));
  }
  return text + "</div>\n";
}

std::string table(const Savings& s) {
  std::string text = "<h2>All figures</h2>\n<div class=\"scroll\"><table>\n<tr>";
  for (const char* const title :
       {"trick", "peak live", "peak reserved", "saved", "saved %", "time", "again", "exact", "largest batch", "by 003"})
    text += fmt::format("<th>{}</th>", title);
  text += "</tr>\n";
  for (SavingsRow const& row : s.rows) {
    SavingsWords const w = savings_words(row, Unit::Own);
    text += fmt::format("<tr><td title=\"{}\">{}</td>", escaped(row.flags), escaped(row.trick));
    for (std::string const* cell : {&w.live, &w.reserved, &w.saved, &w.percent, &w.time, &w.again})
      text += fmt::format("<td>{}</td>", *cell);
    text += fmt::format("<td{}>{}</td>", row.verified == false ? " class=\"bad\"" : "", w.exact);
    text += fmt::format("<td>{}</td><td>{}</td></tr>\n", w.batch, w.article);
  }
  return text + "</table></div>\n";
}

// The sentence that the page is about: before, and after.
std::string lead(const Savings& s) {
  const SavingsRow* best = nullptr;
  for (SavingsRow const& row : s.rows)
    if (row.exactness == Exactness::Bits && (best == nullptr || row.max_batch > best->max_batch)) best = &row;
  if (best == nullptr || s.rows.empty()) return "";
  return fmt::format("<p class=\"lead\">Largest batch in {}: <b>{}</b> plain, <b>{}</b> with the same bits ({}).</p>\n",
                     bytes_text(s.budget_bytes), savings_words(s.rows[0], Unit::Own).batch,
                     savings_words(*best, Unit::Own).batch, escaped(best->trick));
}

}  // namespace

std::string savings_html(const Savings& s) {
  std::string text = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  text += fmt::format("<title>tidemark savings: {} {}</title>\n<style>{}</style>\n</head>\n<body>\n", escaped(s.model),
                      escaped(s.size), kStyle);
  text += fmt::format("<h1>What memory tricks save: {} {}</h1>\n<p class=\"dim\">{} parameters, batch {}, {}</p>\n",
                      escaped(s.model), escaped(s.size), count_text(s.parameters), s.batch, escaped(s.device));
  text += lead(s) + bytes_chart(s) + batch_chart(s) + time_chart(s) + table(s) + "<ul>\n";
  for (std::string const& one : savings_legend(s)) text += "<li>" + escaped(one) + "</li>\n";
  return text + "</ul>\n</body>\n</html>\n";
}

}  // namespace tidemark::analysis::report
