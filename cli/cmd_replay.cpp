// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "analysis/replay/replay.h"
#include "base/bytes.h"
#include "base/env.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace tidemark::cli {
namespace {

using analysis::ReplayResult;

constexpr const char* kExamples =
    "  tidemark replay run.tide                                   every allocator, side by side\n"
    "  tidemark replay run.tide --allocator tidemark --repeat 50  does it settle?\n"
    "  tidemark replay run.tide --repeat 50 --search 30s          with the best layout of the loop that 30 seconds "
    "find\n"
    "  tidemark replay snapshot.csv.gz --format json";

const std::vector<std::string> kAllocators = {"tidemark", "pytorch", "expandable", "ideal"};

std::string as_text(const std::vector<ReplayResult>& results) {
  std::string text = fmt::format("{:<11} {:>12} {:>12} {:>7} {:>7} {:>13} {:>9}\n", "allocator", "peak live",
                                 "reserved", "ratio", "steady", "driver calls", "ns per op");
  for (ReplayResult const& r : results)
    text += fmt::format("{:<11} {:>12} {:>12} {:>7.3f} {:>7.3f} {:>13} {:>9.1f}\n", r.allocator,
                        format_bytes({r.peak_live_bytes}), format_bytes({r.peak_reserved_bytes}), r.ratio(),
                        r.steady_ratio(), r.driver_calls, r.ns_per_op);
  return text;
}

std::string as_json(const std::vector<ReplayResult>& results, bool one) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (ReplayResult const& r : results)
    all.push_back({{"allocator", r.allocator},
                   {"peak_live_bytes", r.peak_live_bytes},
                   {"peak_reserved_bytes", r.peak_reserved_bytes},
                   {"ratio", r.ratio()},
                   {"steady_ratio", r.steady_ratio()},
                   {"driver_calls", r.driver_calls},
                   {"steady_driver_calls", r.steady_driver_calls},
                   {"ns_per_op", r.ns_per_op}});
  return (one ? all[0] : all).dump(2) + "\n";
}

}  // namespace

Result<int> cmd_replay(Words words) {
  Arguments arguments(
      "replay", "Runs an allocator over what a program allocated, and says what it would have reserved.", kExamples);
  std::vector<std::string> files;
  std::string allocator;
  std::string format = "text";
  std::string search = "0s";
  std::optional<std::uint64_t> repeat;
  arguments.positional(files, "F", "a trace (.tide), or a CSV with the columns op,id,bytes,stream,t_us (also .gz)");
  arguments.option(allocator, {"--allocator", "A",
                               "tidemark, pytorch, expandable (PyTorch's rules) or ideal; default: all", kAllocators});
  arguments.option(repeat, {"--repeat", "N", "go through the lifetimes N times (default 1)"});
  arguments.option(search, {"--search", "TIME",
                            "for tidemark: how long to look for a better layout of the loop than the first one, in the "
                            "allocation that begins its third round or so (default 0: the first will do; a program "
                            "gets 30s on a thread of its own)"});
  arguments.option(format, {"--format", "FORMAT", "text (default) or json", {"text", "json"}});
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  if (files.size() != 1) return Error{Errc::InvalidArgument, "replay takes one file", "tidemark replay --help"};
  if (repeat && *repeat == 0) return Error{Errc::InvalidArgument, "--repeat 0: nothing to do", "1 or more"};
  auto const search_ns = parse_duration_ns(search);
  if (!search_ns.ok())
    return Error{Errc::InvalidArgument, "--search " + search + ": not a time", "write it as 500ms, 10s or 2m"};
  TIDEMARK_TRY(analysis::Lifetimes const lifetimes, analysis::read_lifetimes(files[0]));
  std::vector<ReplayResult> results;
  for (std::string const& name : kAllocators) {
    if (!allocator.empty() && name != allocator) continue;
    TIDEMARK_TRY(ReplayResult result,
                 analysis::replay(lifetimes, {.allocator = name,
                                              .repetitions = repeat.value_or(1),
                                              .search = {.seconds = static_cast<double>(*search_ns) * 1e-9}}));
    results.push_back(std::move(result));
  }
  bool const one = !allocator.empty();
  if (auto printed = print(format == "json" ? as_json(results, one) : as_text(results)); !printed.ok())
    return printed.error();
  return kOk;
}

}  // namespace tidemark::cli
