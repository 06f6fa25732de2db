// SPDX-License-Identifier: Apache-2.0
#include "cli/run/closing.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "analysis/report/shorten.h"
#include "analysis/report/words.h"
#include "analysis/summarize.h"
#include "base/bytes.h"

namespace tidemark::cli {
namespace {

namespace report = analysis::report;

// Some seconds of work; beyond it the program's user would wait for our summary.
constexpr std::uint64_t kWorthReading = std::uint64_t{256} << 20;
constexpr std::size_t kLayers = 5, kLongestName = 60;

std::string place_of(const analysis::Anatomy& peak) {
  std::string text;
  if (peak.step) text += fmt::format("step {}, ", *peak.step);
  if (!peak.phase.empty() && peak.phase != "other") text += peak.phase + ", ";
  return text + "layer " + report::fit(report::clean(peak.layer), kLongestName, false);
}

std::string layers_of(const analysis::Anatomy& peak) {
  std::string text;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kLayers, peak.by_layer.size()); ++i)
    names.push_back(report::clean(peak.by_layer[i].name));
  names = report::without_what_is_shared(names, {.columns = kLongestName, .unicode = false});
  std::size_t width = 0;
  for (std::string& name : names) {
    name = report::fit(name, kLongestName, false);
    width = std::max(width, report::columns(name));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint64_t const live = peak.by_layer[i].live_bytes;
    double const share = 100.0 * static_cast<double>(live) / static_cast<double>(peak.live_bytes);
    text += fmt::format("    {}  {:>10}  {:4.1f} %\n", report::pad_right(names[i], width), format_bytes({live}), share);
  }
  return text;
}

std::string whole_summary(const trace::Trace& trace) {
  auto const summary = analysis::summarize(trace, {});
  if (!summary.ok()) return "  " + summary.error().what + "\n";
  analysis::Anatomy const& peak = summary->peak;
  std::string text;
  if (summary->source.lost_events != 0)
    text += "  " + report::count_text(summary->source.lost_events, "event", "events") +
            " could not be recorded: the figures are lower bounds\n";
  std::string const reserved = format_bytes({summary->peak_reserved_bytes});
  if (summary->peak_live_bytes > peak.live_bytes)
    text += fmt::format("  peak live {}, reserved {}; of the events that were kept:\n",
                        format_bytes({summary->peak_live_bytes}), reserved);
  text += fmt::format("  peak live {}, reserved {}: {}\n", format_bytes({peak.live_bytes}), reserved, place_of(peak));
  if (peak.by_layer.size() > 1) text += layers_of(peak);
  if (summary->cache)
    text += fmt::format("  cache: {} kept free at most, {} lost to rounding at most, {} avoided\n",
                        format_bytes({summary->cache->peak_cached_bytes}),
                        format_bytes({summary->cache->peak_rounding_bytes}),
                        report::count_text(summary->cache->waits_avoided, "wait", "waits"));
  if (!summary->late_frees.empty())
    text += "  " + report::count_text(summary->late_frees.size(), "free", "frees") +
            " of memory that other streams may still use: a bug of the program's\n";
  if (!summary->failures.empty())
    text += "  " + report::count_text(analysis::failure_count(*summary), "allocation", "allocations") +
            " failed for lack of memory\n";
  return text;
}

std::string short_summary(const trace::Trace& trace) {
  trace::Totals const& totals = trace.header().totals;
  return fmt::format("  peak live {}, reserved {}, {} of every class\n", format_bytes({totals.peak_live_bytes}),
                     format_bytes({totals.peak_reserved_bytes}),
                     report::count_text(totals.allocations, "allocation", "allocations"));
}

std::string one(const std::string& path) {
  auto const trace = trace::Trace::open(path);
  if (!trace.ok()) return "  " + trace.error().what + "\n";
  trace::FileHeader const& header = trace->header();
  std::error_code failure;
  std::uint64_t const bytes = std::filesystem::file_size(path, failure);
  std::string const mode = header.mode == trace::Mode::Cache ? "cache" : "observe";
  std::string text =
      fmt::format("tidemark: mode {}, process {}, {} of trace: {}\n", mode, header.pid, format_bytes({bytes}), path);
  if (std::string const why = trace->names().fact("mode.observe"); !why.empty())
    text += (mode == "cache" ? "  later observed, not served: " : "  observed, not served: ") + why + "\n";
  return text + (bytes <= kWorthReading ? whole_summary(*trace) : short_summary(*trace));
}

}  // namespace

std::string closing_lines(const std::vector<std::string>& traces) {
  std::string text, all;
  for (std::string const& trace : traces) {
    text += one(trace);
    all += " " + trace;
  }
  return text + "  next: tidemark report" + all + "\n";
}

std::string nothing_recorded(bool software_device) {
  std::string text = "tidemark: nothing was recorded: the program did not use a CUDA device\n";
  void* const driver = software_device ? nullptr : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!software_device && driver == nullptr)
    text += "  there is no CUDA driver here; on the software device: tidemark run --device soft:a100-80g -- ...\n";
  else
    text += "  if it did, its libraries may be bound to their own names first: tidemark run --door soname ...\n";
  if (driver != nullptr) dlclose(driver);
  return text;
}

}  // namespace tidemark::cli
