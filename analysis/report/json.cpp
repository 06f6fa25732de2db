// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/version.h"

namespace tidemark::analysis::report {
namespace {

// Keys in the order in which they are written here: a person may look at it after all.
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::size_t shown(const std::vector<T>& rows, const JsonOptions& o) {
  return std::min(rows.size(), o.top.value_or(rows.size()));
}

template <class T, class F>
Json list(const std::vector<T>& rows, std::size_t count, F f) {
  Json out = Json::array();
  for (std::size_t i = 0; i < count; ++i) out.push_back(f(rows[i]));
  return out;
}

Json counts(const std::vector<std::pair<std::string, std::uint64_t>>& rows) {
  Json out = Json::object();
  for (auto const& [what, count] : rows) out[what] = count;
  return out;
}

Json trace_of(const Source& s) {
  constexpr const char* kStates[] = {"open", "closed", "stopped"};
  return {{"path", s.path},
          {"complete", s.complete},
          {"dropped_events", s.lost_events},
          {"missing_bytes", s.missing_bytes},
          {"duration_ns", s.duration_ns},
          {"processes", 1},
          {"mode", s.mode},
          {"state", kStates[static_cast<std::size_t>(s.state)]},
          {"process", s.process},
          {"dropped", counts(s.lost)},
          {"inconsistent", counts(s.oddities)}};
}

Json device_of(const DeviceRow& d) {
  return {{"name", d.name},
          {"total_bytes", or_null(d.total_bytes)},
          {"software", d.software},
          {"dry_run", d.dry_run},
          {"number", d.number},
          {"peak_live_bytes", d.peak_live_bytes},
          {"limit_bytes", or_null(d.limit_bytes)}};
}

std::string_view name_of(By by) {
  constexpr std::string_view kNames[] = {"kind", "layer", "phase", "step", "stack"};
  return kNames[static_cast<std::size_t>(by)];
}
const std::vector<Row>& rows_of(const Anatomy& a, By by) {
  switch (by) {
    case By::Kind: return a.by_kind;
    case By::Layer: return a.by_layer;
    case By::Phase: return a.by_phase;
    case By::Step: return a.by_step;
    case By::Stack: break;
  }
  return a.by_stack;
}

Json row_of(const char* what, const Row& r) {
  return {{what, r.name},
          {"live_bytes", r.live_bytes},
          {"activation_bytes", r.activation_bytes},
          {"requested_bytes", r.requested_bytes},
          {"blocks", r.blocks}};
}

Json block_of(const BlockRow& b) {
  return {{"live_bytes", b.live_bytes},
          {"requested_bytes", b.requested_bytes},
          {"layer", b.layer},
          {"kind", b.kind},
          {"phase", b.phase},
          {"step", or_null(b.step)},
          {"name", b.name},
          {"device", b.device},
          {"address", b.address},
          {"born_ns", b.born_ns}};
}

Json anatomy_of(const Anatomy& a, const JsonOptions& o) {
  Json kinds = Json::object();
  for (Row const& r : a.by_kind) kinds[r.name] = r.live_bytes;
  Json out{{"requested_bytes", a.requested_bytes},
           {"live_bytes", a.live_bytes},
           {"reserved_bytes", a.reserved_bytes},
           {"time_ns", a.time_ns},
           {"step", or_null(a.step)},
           {"phase", a.phase},
           {"layer", a.layer},
           {"by_kind", std::move(kinds)},
           {"by_layer", list(a.by_layer, shown(a.by_layer, o), [](const Row& r) { return row_of("layer", r); })},
           {"kind_given_bytes", a.kind_given_bytes},
           {"kind_inferred_bytes", a.kind_inferred_bytes}};
  if (o.by) {
    auto const& rows = rows_of(a, *o.by);
    out["by"] = {{"dimension", name_of(*o.by)}, {"rows", list(rows, shown(rows, o), [](const Row& r) {
                                                   Json row = row_of("name", r);
                                                   if (!r.frames.empty()) row["frames"] = r.frames;
                                                   return row;
                                                 })}};
  }
  out["largest_blocks"] = list(a.largest, a.largest.size(), block_of);
  return out;
}

Json layer_of(const LayerRow& l, bool timeline) {
  Json out{{"layer", l.name},
           {"peak_live_bytes", l.peak_live_bytes},
           {"peak_activation_bytes", l.peak_activation_bytes},
           {"allocations", l.allocations}};
  if (timeline) out["activation_timeline"] = l.activation_timeline;
  return out;
}

Json step_of(const StepRow& s) {
  Json out{{"step", s.step},
           {"peak_live_bytes", s.peak_live_bytes},
           {"end_live_bytes", s.end_live_bytes},
           {"begin_ns", s.begin_ns},
           {"end_ns", s.end_ns},
           {"allocations", s.allocations}};
  if (s.last_step > s.step) out["last_step"] = s.last_step;
  return out;
}

// Those that everybody asks for are always there.
Json classes_of(const std::vector<ClassRow>& rows) {
  Json out{{"device", 0}, {"pinned", 0}, {"managed", 0}, {"array", 0}, {"imported", 0}};
  for (ClassRow const& c : rows) out[c.name] = c.peak_bytes;
  return out;
}

Json failure_of(const FailureRow& f) {
  Json out{{"time_ns", f.time_ns},       {"device", f.device}, {"requested_bytes", f.requested_bytes},
           {"free_bytes", f.free_bytes}, {"error", f.error},   {"class", f.block_class},
           {"step", or_null(f.step)},    {"phase", f.phase},   {"layer", f.layer},
           {"text", f.post_mortem}};
  if (!f.frames.empty()) out["frames"] = f.frames;
  return out;
}

// The last failure is the one that the program met its end with; the others are beside it. Its text is the last that
// was written: one of many in a second has none of its own.
Json oom_of(const Summary& s) {
  constexpr std::size_t kMost = 100;
  auto const& rows = s.failures;
  if (rows.empty()) return nullptr;
  Json out = failure_of(rows.back());
  out["text"] = last_explained(s)->post_mortem;
  out["text_time_ns"] = last_explained(s)->time_ns;
  out["count"] = failure_count(s);
  out["failures"] = list(rows, std::min(rows.size(), kMost), failure_of);
  return out;
}

Json culprit_of(const Culprit& c) {
  return {{"address", c.address},
          {"layer", c.layer},
          {"name", c.name},
          {"kind", c.kind},
          {"live_bytes", c.live_bytes},
          {"born_ns", c.born_ns},
          {"before_bytes", c.before_bytes},
          {"after_bytes", c.after_bytes},
          {"device", c.device},
          {"given_back_bytes", c.given_back_bytes}};
}

Json moment_of(const CacheMoment& m) {
  return {{"time_ns", m.time_ns},
          {"live_bytes", m.live_bytes},
          {"requested_bytes", m.requested_bytes},
          {"cached_bytes", m.cached_bytes()},
          {"reserved_bytes", m.reserved_bytes},
          {"rounding_loss_bytes", m.rounding_bytes()},
          {"largest_hole_bytes", m.largest_hole_bytes}};
}

Json late_free_of(const LateFreeRow& f) {
  return {
      {"time_ns", f.time_ns},
      {"address", f.address},
      {"requested_bytes", f.requested_bytes},
      {"device", f.device},
      {"freed", {{"layer", f.freed_layer}, {"phase", f.phase}, {"step", or_null(f.step)}, {"stream", f.freed_stream}}},
      {"used", {{"layer", f.used_layer}, {"stream", f.used_stream}, {"by", f.used_by}}}};
}

Json cache_of(const std::optional<CacheSummary>& c) {
  if (!c) return nullptr;
  return {{"at_peak", moment_of(c->at_peak)},
          {"at_end", moment_of(c->at_end)},
          {"peak_cached_bytes", c->peak_cached_bytes},
          {"peak_rounding_loss_bytes", c->peak_rounding_bytes},
          {"plan_hits", c->plan_hits},
          {"plan_misses", c->plan_misses},
          {"waits_avoided", c->waits_avoided},
          {"given_back_bytes", c->given_back_bytes}};
}

Json fragmentation_of(const Summary& s) {
  Json ratio = nullptr;
  if (s.reserved_from_driver && !s.partial && s.peak.live_bytes != 0)
    ratio = static_cast<double>(s.peak.reserved_bytes) / static_cast<double>(s.peak.live_bytes);
  Json out{{"ratio_at_peak", ratio}, {"largest_hole_bytes", nullptr}, {"culprits", nullptr}};
  if (s.cache) out["largest_hole_bytes"] = s.cache->largest_hole_bytes;
  if (s.cache && s.cache->culprits_time_ns) {
    out["culprits"] = list(s.cache->culprits, s.cache->culprits.size(), culprit_of);
    out["culprits_time_ns"] = *s.cache->culprits_time_ns;
  }
  return out;
}

Json ledger_of(const Ledger& l) {
  return {{"device_used_bytes", or_null(l.device_used_bytes)},
          {"context_bytes", or_null(l.context_bytes)},
          {"libraries_bytes", nullptr},
          {"live_bytes", l.live_bytes},
          {"cached_bytes", l.cached_bytes},
          {"other_processes_bytes", or_null(l.other_processes_bytes)},
          {"residual_bytes", or_null(l.residual_bytes)}};
}

Json report_of(const Summary& s, const JsonOptions& o) {
  Json out{{"tidemark", version()}, {"trace", trace_of(s.source)}};
  out["program"] = {{"command", s.source.command},
                    {"exit", or_null(s.source.exit_code)},
                    {"signal", s.source.signal == 0 ? Json(nullptr) : Json(s.source.signal)}};
  out["devices"] = list(s.devices, s.devices.size(), device_of);
  out["totals"] = {{"allocations", s.totals.allocations},
                   {"frees", s.totals.frees},
                   {"requested_bytes", s.totals.requested_bytes},
                   {"driver_allocations", s.totals.driver_allocations},
                   {"driver_frees", s.totals.driver_frees}};
  if (s.folded)
    out["folded"] = {{"begin_ns", s.folded->begin_ns},
                     {"until_ns", s.folded->until_ns},
                     {"step_rows", s.folded->steps_until},
                     {"peak_step", or_null(s.folded->peak_step)}};
  out["peak"] = anatomy_of(s.peak, o);
  if (s.at) out["at"] = anatomy_of(*s.at, o);
  out["peak_live_bytes"] = s.peak_live_bytes;
  out["peak_requested_bytes"] = s.peak_requested_bytes;
  out["peak_reserved_bytes"] = s.peak_reserved_bytes;
  out["reserved_source"] = s.reserved_from_driver ? "driver" : "live";
  out["end_live_bytes"] = s.end_live_bytes;
  out["layers"] = list(s.layers, shown(s.layers, o), [&](const LayerRow& l) { return layer_of(l, o.timeline); });
  out["steps"] = list(s.steps, s.steps.size(), step_of);
  out["classes"] = classes_of(s.classes);
  out["fragmentation"] = fragmentation_of(s);
  out["cache"] = cache_of(s.cache);
  out["late_frees"] = list(s.late_frees, s.late_frees.size(), late_free_of);
  out["leaks"] = nullptr;
  out["oom"] = oom_of(s);
  out["ledger"] = s.partial ? Json(nullptr) : ledger_of(s.ledger);
  if (!s.filter.empty()) out["filter"] = s.filter;
  if (o.timeline)
    out["timeline"] = list(s.timeline, s.timeline.size(), [](const TimelinePoint& p) {
      return Json::array({p.time_ns, p.live_bytes, p.requested_bytes, p.reserved_bytes});
    });
  out["facts"] = s.source.facts;
  return out;
}

// Names may be any bytes; JSON is UTF-8.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_report(const Summary& summary, const JsonOptions& options) {
  return text_of(report_of(summary, options));
}

std::string json_overview(const std::vector<Summary>& summaries, const JsonOptions& options) {
  auto const highest = std::max_element(summaries.begin(), summaries.end(), [](const Summary& a, const Summary& b) {
    return a.peak_live_bytes < b.peak_live_bytes;
  });
  Json out{{"tidemark", version()},
           {"processes", summaries.size()},
           {"highest", highest == summaries.end() ? Json(nullptr) : Json(highest->source.path)}};
  out["traces"] = list(summaries, summaries.size(), [&](const Summary& s) { return report_of(s, options); });
  return text_of(out);
}

}  // namespace tidemark::analysis::report
