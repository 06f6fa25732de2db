// SPDX-License-Identifier: Apache-2.0
#include "cli/run/closing.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "analysis/summarize.h"
#include "base/bytes.h"

namespace tidemark::cli {
namespace {

// Some seconds of work; beyond it the program's user would wait for our summary.
constexpr std::uint64_t kWorthReading = std::uint64_t{256} << 20;
constexpr std::size_t kLayers = 5;

std::string place_of(const analysis::Anatomy& peak) {
  std::string text;
  if (peak.step) text += fmt::format("step {}, ", *peak.step);
  if (!peak.phase.empty() && peak.phase != "other") text += peak.phase + ", ";
  return text + "layer " + peak.layer;
}

std::string layers_of(const analysis::Anatomy& peak) {
  std::string text;
  std::size_t width = 0, count = std::min(kLayers, peak.by_layer.size());
  for (std::size_t i = 0; i < count; ++i) width = std::max(width, peak.by_layer[i].name.size());
  for (std::size_t i = 0; i < count; ++i) {
    analysis::Row const& row = peak.by_layer[i];
    double const share = 100.0 * static_cast<double>(row.live_bytes) / static_cast<double>(peak.live_bytes);
    text += fmt::format("    {:<{}}  {:>10}  {:4.1f} %\n", row.name, std::min<std::size_t>(width, 60),
                        format_bytes({row.live_bytes}), share);
  }
  return text;
}

std::string whole_summary(const trace::Trace& trace) {
  auto const summary = analysis::summarize(trace, {});
  if (!summary.ok()) return "  " + summary.error().what + "\n";
  analysis::Anatomy const& peak = summary->peak;
  std::string text;
  if (summary->source.lost_events != 0)
    text +=
        fmt::format("  {} events could not be recorded: the figures are lower bounds\n", summary->source.lost_events);
  std::string const reserved = format_bytes({summary->peak_reserved_bytes});
  if (summary->peak_live_bytes > peak.live_bytes)
    text += fmt::format("  peak live {}, reserved {}; of the events that were kept:\n",
                        format_bytes({summary->peak_live_bytes}), reserved);
  text += fmt::format("  peak live {}, reserved {}: {}\n", format_bytes({peak.live_bytes}), reserved, place_of(peak));
  if (peak.by_layer.size() > 1) text += layers_of(peak);
  if (!summary->failures.empty())
    text += fmt::format("  {} allocations failed for lack of memory\n", summary->failures.size());
  return text;
}

std::string short_summary(const trace::Trace& trace) {
  trace::Totals const& totals = trace.header().totals;
  return fmt::format("  peak live {}, reserved {}, {} allocations\n", format_bytes({totals.peak_live_bytes}),
                     format_bytes({totals.peak_reserved_bytes}), totals.allocations);
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
