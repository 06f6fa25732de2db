// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/json.h"

#include <nlohmann/json.hpp>

#include "tests/support/sample_traces.h"
#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis::report {
namespace {

using nlohmann::json;

json report(std::string_view name, Question question = {}, const JsonOptions& options = {}) {
  for (auto const& s : trace::samples())
    if (s.name == name) return json::parse(json_report(summary_of(s.make(), question), options));
  ADD_FAILURE() << "no sample " << name;
  return {};
}

std::uint64_t sum_of(const json& rows, const char* key) {
  std::uint64_t total = 0;
  for (auto const& row : rows) total += row.at(key).get<std::uint64_t>();
  return total;
}

// The stable keys, as they are promised.
TEST(JsonReport, HasTheKeysThatWerePromised) {
  for (auto const& s : trace::samples()) {
    json const r = report(s.name, {.timeline_points = 16, .layer_timelines = true}, {.timeline = true});
    for (const char* pointer : {"/tidemark",
                                "/trace/path",
                                "/trace/complete",
                                "/trace/dropped_events",
                                "/trace/duration_ns",
                                "/trace/processes",
                                "/trace/mode",
                                "/program/command",
                                "/program/exit",
                                "/devices/0/name",
                                "/devices/0/total_bytes",
                                "/devices/0/software",
                                "/devices/0/dry_run",
                                "/totals/allocations",
                                "/totals/frees",
                                "/totals/requested_bytes",
                                "/totals/driver_allocations",
                                "/totals/driver_frees",
                                "/peak/requested_bytes",
                                "/peak/live_bytes",
                                "/peak/reserved_bytes",
                                "/peak/time_ns",
                                "/peak/step",
                                "/peak/phase",
                                "/peak/layer",
                                "/peak/by_kind",
                                "/peak/by_layer/0/layer",
                                "/peak/by_layer/0/live_bytes",
                                "/peak/by_layer/0/activation_bytes",
                                "/peak_requested_bytes",
                                "/peak_reserved_bytes",
                                "/end_live_bytes",
                                "/layers/0/layer",
                                "/layers/0/peak_live_bytes",
                                "/layers/0/peak_activation_bytes",
                                "/layers/0/allocations",
                                "/layers/0/activation_timeline",
                                "/steps",
                                "/classes/device",
                                "/classes/pinned",
                                "/classes/managed",
                                "/classes/array",
                                "/classes/imported",
                                "/fragmentation/ratio_at_peak",
                                "/fragmentation/largest_hole_bytes",
                                "/fragmentation/culprits",
                                "/leaks",
                                "/oom",
                                "/ledger/device_used_bytes",
                                "/ledger/context_bytes",
                                "/ledger/libraries_bytes",
                                "/ledger/live_bytes",
                                "/ledger/cached_bytes",
                                "/ledger/other_processes_bytes",
                                "/ledger/residual_bytes",
                                "/reserved_source"})
      EXPECT_TRUE(r.contains(json::json_pointer(pointer))) << s.name << ": " << pointer;
  }
}

TEST(JsonReport, SumsAgree) {
  for (auto const& s : trace::samples()) {
    for (By const by : {By::Kind, By::Layer, By::Phase, By::Step, By::Stack}) {
      json const r = report(s.name, {}, {.by = by});
      std::uint64_t kinds = 0;
      for (auto const& [kind, bytes] : r["peak"]["by_kind"].items()) kinds += bytes.get<std::uint64_t>();
      EXPECT_EQ(kinds, r["peak"]["live_bytes"]);
      EXPECT_EQ(sum_of(r["peak"]["by_layer"], "live_bytes"), r["peak"]["live_bytes"]);
      EXPECT_EQ(sum_of(r["peak"]["by"]["rows"], "live_bytes"), r["peak"]["live_bytes"]);
      EXPECT_LE(r["peak"]["requested_bytes"], r["peak"]["live_bytes"]);
      EXPECT_LE(r["peak"]["live_bytes"], r["peak"]["reserved_bytes"]);
      EXPECT_LE(r["peak"]["reserved_bytes"], r["peak_reserved_bytes"]);
    }
  }
}

TEST(JsonReport, WhatIsNotKnownIsNull) {
  json const r = report("unmarked");
  EXPECT_TRUE(r["peak"]["step"].is_null());
  EXPECT_TRUE(r["fragmentation"]["ratio_at_peak"].is_null());
  EXPECT_TRUE(r["leaks"].is_null());
  EXPECT_TRUE(r["oom"].is_null());
  EXPECT_TRUE(r["ledger"]["device_used_bytes"].is_null());
  EXPECT_EQ(r["reserved_source"], "live");
  EXPECT_EQ(r["program"]["exit"], 137);
  EXPECT_FALSE(r["trace"]["complete"]);
  EXPECT_EQ(r["trace"]["dropped_events"], 1203);
}

TEST(JsonReport, TheLedgerAddsUpToTheDevice) {
  json const r = report("training");
  EXPECT_EQ(r["reserved_source"], "driver");
  json const& l = r["ledger"];
  EXPECT_EQ(l["residual_bytes"], 0);
  EXPECT_EQ(l["device_used_bytes"].get<std::uint64_t>(),
            l["context_bytes"].get<std::uint64_t>() + l["live_bytes"].get<std::uint64_t>() +
                l["cached_bytes"].get<std::uint64_t>() + l["other_processes_bytes"].get<std::uint64_t>());
}

TEST(JsonReport, APartOfTheBlocksHasNoLedger) {
  EXPECT_TRUE(report("training", {.filter = {.layer = "features.*"}})["ledger"].is_null());
  EXPECT_TRUE(report("training", {.filter = {.layer = "features.*"}})["fragmentation"]["ratio_at_peak"].is_null());
  EXPECT_FALSE(report("training", {.filter = {.device = 0}})["ledger"].is_null());
}

TEST(JsonReport, ShowsAFailure) {
  json const r = report("oom");
  EXPECT_EQ(r["oom"]["requested_bytes"], 44 << 20);
  EXPECT_EQ(r["oom"]["step"], 17);
  EXPECT_EQ(r["oom"]["count"], 1);
}

TEST(JsonReport, OfManyFailuresTheLastHasTheLastText) {
  TraceMaker t;
  t.use_stack(1, t.stack({0x1000}));
  t.failure(1, 1, {.size_bytes = 1, .text = t.string("first")});
  t.failure(1, 2, {.size_bytes = 2, .text = t.string("second")});
  t.failure(1, 3, {.size_bytes = 3});
  json const oom = json::parse(json_report(summary_of(t, {.named_failures = 1}), {}))["oom"];
  EXPECT_EQ(oom["requested_bytes"], 3);
  EXPECT_EQ(oom["text"], "second");
  EXPECT_EQ(oom["text_time_ns"], 2);
  EXPECT_EQ(oom["count"], 3);
  EXPECT_EQ(oom["failures"][2]["text"], "");
  EXPECT_EQ(oom["frames"].size(), 1u);
  EXPECT_EQ(oom["failures"][0]["frames"], oom["frames"]);
}

TEST(JsonReport, ListsAreCutWhereThatIsAskedFor) {
  json const r = report("training", {.largest_blocks = 2}, {.top = 2});
  EXPECT_EQ(r["peak"]["by_layer"].size(), 2u);
  EXPECT_EQ(r["layers"].size(), 2u);
  EXPECT_EQ(r["peak"]["largest_blocks"].size(), 2u);
  EXPECT_EQ(r["peak"]["largest_blocks"][0]["name"], "moments");
}

TEST(JsonReport, NamesOfAnyBytesAreStillJson) {
  TraceMaker t;
  t.fact("program.command", "\xff\xfe");
  t.scope(1, 1, t.path("\xc3\x28\xff"));
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 1});
  EXPECT_TRUE(json::accept(json_report(summary_of(t), {})));
}

TEST(JsonReport, SeveralTracesAreAListWithTheHighestNamed) {
  std::vector<Summary> all;
  for (auto const& s : trace::samples()) {
    all.push_back(summary_of(s.make()));
    all.back().source.path = s.name;
  }
  json const r = json::parse(json_overview(all, {}));
  EXPECT_EQ(r["processes"], 6);
  EXPECT_EQ(r["traces"].size(), 6u);
  EXPECT_EQ(r["highest"], "served");
}

}  // namespace
}  // namespace tidemark::analysis::report
