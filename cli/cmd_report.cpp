// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "analysis/report/json.h"
#include "analysis/report/text.h"
#include "analysis/summarize.h"
#include "analysis/timeline.h"
#include "base/env.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace tidemark::cli {
namespace {

using namespace analysis;

constexpr const char* kExamples =
    "  tidemark report run.tide                               the peak, by kind and by layer\n"
    "  tidemark report run.tide --by layer --top 30           more layers\n"
    "  tidemark report run.tide --layer 'encoder.*'           only these layers, at their own peak\n"
    "  tidemark report run.tide --at step:12                  what was alive at the peak of step 12\n"
    "  tidemark report run.tide --at 1.5s --by phase\n"
    "  tidemark report run.tide --format json -o report.json  every figure, for programs\n"
    "  tidemark report rank-*.tide                            several processes at once";

struct Options {
  std::vector<std::string> files;
  std::string format = "text", output, by, at = "peak", layer, kind, phase;
  std::optional<std::uint64_t> top, step, device, process, timeline;
  bool force = false;
};

template <std::size_t n>
std::vector<std::string> words_in(const std::array<std::string_view, n>& names) {
  return {names.begin(), names.end()};
}

void declare(Arguments& a, Options& o) {
  a.positional(o.files, "F", "traces (.tide)");
  a.option(o.format, {"--format", "FORMAT", "text (default) or json", {"text", "json"}});
  a.option(o.output, {"-o,--output", "OUT", "write to a file instead of the standard output"});
  a.flag(o.force, "--force", "write over OUT if it is there");
  a.option(
      o.by,
      {"--by", "WHAT", "one table: kind, layer, phase, step or stack", {"kind", "layer", "phase", "step", "stack"}});
  a.option(o.at, {"--at", "WHEN", "peak (default), a time since the beginning (1.5s, 20ms), or step:N"});
  a.option(o.top, {"--top", "N", "rows of a table (text: 10; json: all)"});
  a.option(o.layer, {"--layer", "GLOB", "count only blocks of these layers"});
  a.option(o.kind, {"--kind", "K", "count only blocks of this kind", words_in(trace::kKindNames)});
  a.option(o.phase, {"--phase", "P", "count only blocks allocated in this phase", words_in(trace::kPhaseNames)});
  a.option(o.step, {"--step", "N", "count only blocks allocated in this step"});
  a.option(o.device, {"--device", "D", "only this device, by its number"});
  a.option(o.process, {"--process", "P", "of several traces, that of this process id"});
  a.option(o.timeline, {"--timeline", "N", "bytes over time in N points, no peak left out"});
}

Error usage(const std::string& what, const std::string& hint) {
  return {Errc::InvalidArgument, what, hint};
}

Result<void> read_at(const std::string& text, Question& q) {
  if (text == "peak") return {};
  if (text.starts_with("step:")) {
    std::uint64_t step = 0;
    const char* const end = text.data() + text.size();
    auto const [stop, failure] = std::from_chars(text.data() + 5, end, step);
    if (failure != std::errc{} || stop != end) return usage("--at " + text + ": not a step", "write it as step:12");
    q.at_step = step;
    return {};
  }
  auto const time_ns = parse_duration_ns(text);
  if (!time_ns.ok())
    return usage("--at " + text + ": not an instant", "write peak, step:12, or a time since the beginning: 1.5s, 20ms");
  if (text.find_first_not_of("0123456789.") == std::string::npos && *time_ns != 0)
    return usage("--at " + text + ": a time needs its unit", "write " + text + "s or " + text + "ms; or step:" +
                                                                 text.substr(0, text.find('.')) + " for a step's peak");
  q.at_ns = *time_ns;
  return {};
}

Result<Question> question_of(const Options& o, const report::TextOptions& text) {
  Question q;
  q.filter.layer = o.layer;
  if (!o.kind.empty()) q.filter.kind = trace::find_kind(o.kind);
  if (!o.phase.empty()) q.filter.phase = trace::find_phase(o.phase);
  q.filter.step = o.step;
  if (o.device && *o.device > 255)
    return usage("--device " + std::to_string(*o.device) + ": no such device", "devices are numbered from 0");
  if (o.device) q.filter.device = static_cast<std::uint8_t>(*o.device);
  if (auto read = read_at(o.at, q); !read.ok()) return read.error();
  if (o.timeline && (*o.timeline == 0 || *o.timeline > kMostPoints))
    return usage("--timeline " + std::to_string(*o.timeline) + ": not a number of points",
                 "1 to " + std::to_string(kMostPoints));
  std::size_t const room = report::chart_points(text);
  bool const json = o.format == "json";
  q.timeline_points = json ? o.timeline.value_or(0) : std::min<std::size_t>(o.timeline.value_or(room), room);
  q.layer_timelines = json && o.timeline.has_value();
  q.largest_blocks = o.top.value_or(json ? 10 : 5);
  q.named_failures = json ? 10 : 1;
  // Without --top all stacks are listed in JSON; naming thousands would take minutes.
  if (o.by == "stack") q.named_stacks = o.top.value_or(json ? 100 : text.top);
  return q;
}

std::optional<report::By> by_of(const std::string& text) {
  constexpr std::array<std::string_view, 5> kNames{"kind", "layer", "phase", "step", "stack"};
  return trace::find_in<report::By>(kNames, text);
}

// A file that was named twice counts once.
std::vector<std::string> different_files(const std::vector<std::string>& files) {
  std::vector<std::string> all;
  for (std::string const& file : files)
    if (std::none_of(all.begin(), all.end(), [&](const std::string& f) { return f == file || same_file(f, file); }))
      all.push_back(file);
  return all;
}

Result<Summary> summary_of(const trace::Trace& trace, const Question& q) {
  TIDEMARK_TRY(Summary summary, summarize(trace, q));
  std::uint64_t const end_ns = summary.source.duration_ns;
  if (q.at_ns.value_or(0) > end_ns)
    return usage(summary.source.path + ": the trace ends before that instant",
                 "its last event is at " + std::to_string(end_ns / 1000) + "us");
  return summary;
}

// Of several processes one may not have what is asked for (a layer, a step); that none has it is an error.
Result<std::vector<Summary>> summaries_of(const Options& o, const Question& q) {
  std::vector<Summary> all;
  std::vector<Error> without;
  std::string processes;
  for (std::string const& file : different_files(o.files)) {
    TIDEMARK_TRY(trace::Trace const trace, trace::Trace::open(file));
    processes += (processes.empty() ? "" : ", ") + std::to_string(trace.header().pid);
    if (o.process && trace.header().pid != *o.process) continue;
    auto summary = summary_of(trace, q);
    if (summary.ok())
      all.push_back(*std::move(summary));
    else if (summary.error().code == Errc::InvalidArgument)
      without.push_back(summary.error());
    else
      return summary.error();
  }
  if (all.empty() && !without.empty()) return without.front();
  if (all.empty())
    return usage("--process " + std::to_string(*o.process) + ": no such trace", "there is: " + processes);
  for (Error const& error : without) talk("note: " + error.what);
  return all;
}

// What narrows the question, as it is typed.
std::vector<std::string> question_words(const Options& o) {
  std::vector<std::string> words;
  auto const add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  add("--layer", o.layer);
  add("--kind", o.kind);
  add("--phase", o.phase);
  if (o.step) add("--step", std::to_string(*o.step));
  if (o.device) add("--device", std::to_string(*o.device));
  if (o.at != "peak") add("--at", o.at);
  return words;
}

std::string text_of(std::vector<Summary> summaries, const report::TextOptions& options) {
  if (summaries.size() == 1) return report::text_report(summaries[0], options);
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const Summary& a, const Summary& b) { return a.peak_live_bytes > b.peak_live_bytes; });
  std::string text = report::text_overview(summaries, options);
  for (Summary const& s : summaries)
    text += "\n" + std::string(options.width, '-') + "\n" + report::text_report(s, options);
  return text;
}

}  // namespace

Result<int> cmd_report(Words words) {
  Options o;
  Arguments arguments("report", "Says where the memory of a recorded run went.", kExamples);
  declare(arguments, o);
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;

  report::TextOptions text{.by = by_of(o.by), .top = o.top.value_or(10), .question = question_words(o)};
  Screen const s = screen();
  text.unicode = s.unicode;
  if (o.output.empty()) {
    text.colour = s.colour;
    text.width = s.width;
  }
  TIDEMARK_TRY(Question const question, question_of(o, text));
  TIDEMARK_TRY(auto const summaries, summaries_of(o, question));

  report::JsonOptions const json{.by = text.by, .top = o.top, .timeline = o.timeline.has_value()};
  std::string const out = o.format == "text"      ? text_of(summaries, text)
                          : summaries.size() == 1 ? report::json_report(summaries[0], json)
                                                  : report::json_overview(summaries, json);
  auto const done = o.output.empty() ? print(out) : save({.path = o.output, .force = o.force, .sources = o.files}, out);
  if (!done.ok()) return done.error();
  return kOk;
}

}  // namespace tidemark::cli
