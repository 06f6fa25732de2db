// SPDX-License-Identifier: Apache-2.0
// The answer to a question about a trace, as plain data: what reports print and what tests compare. No type of the
// trace's own is in it. Sizes are bytes, times nanoseconds since the trace began.
//
// Invariants: each table of an Anatomy sums to its live_bytes, to the byte; requested <= live <= reserved.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::analysis {

struct Row {
  std::string name;
  std::uint64_t live_bytes = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t activation_bytes = 0;
  std::uint64_t blocks = 0;
  std::uint32_t stack = 0;          // of by_stack: its number in the trace, 0 for none
  std::vector<std::string> frames;  // of by_stack, where they were asked for: innermost first
};

struct BlockRow {
  std::uint64_t address = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t born_ns = 0;
  std::optional<std::uint64_t> step;
  std::string name;  // given by the program; may be empty
  std::string layer, kind, phase;
  unsigned device = 0;
};

// What was alive at one instant, every way of looking at it. Rows are sorted by live bytes.
struct Anatomy {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0, requested_bytes = 0, reserved_bytes = 0;
  std::uint64_t kind_given_bytes = 0, kind_inferred_bytes = 0;  // of the live ones; the rest has no kind
  std::optional<std::uint64_t> step;
  std::string phase, layer;  // of the latest allocation
  std::vector<Row> by_kind, by_layer, by_phase, by_step, by_stack;
  std::vector<BlockRow> largest;
};

using Points = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // time, bytes

struct LayerRow {
  std::string name;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t peak_activation_bytes = 0;
  std::uint64_t allocations = 0;
  Points activation_timeline;
};

struct StepRow {
  std::uint64_t step = 0;
  std::uint64_t last_step = 0;  // the same, but where a trace that was kept at a size has several as one
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t end_live_bytes = 0;
  std::uint64_t allocations = 0;
};

struct ClassRow {
  std::string name;
  bool on_device = false;
  std::uint64_t peak_bytes = 0;
  std::uint64_t end_bytes = 0;
  std::uint64_t allocations = 0;
};

struct FailureRow {
  std::uint64_t time_ns = 0;
  std::uint64_t requested_bytes = 0, free_bytes = 0;
  unsigned device = 0;
  unsigned error = 0;
  std::optional<std::uint64_t> step;
  std::string layer, phase, block_class, post_mortem;
  std::uint32_t stack = 0;          // its number in the trace, 0 for none
  std::vector<std::string> frames;  // where they were asked for: innermost first
};

struct DeviceRow {
  unsigned number = 0;
  std::string name;  // empty where the trace does not say
  std::optional<std::uint64_t> total_bytes;
  std::optional<std::uint64_t> limit_bytes;  // what it was made to look like, where that is less
  bool software = false, dry_run = false;
  std::uint64_t peak_live_bytes = 0;
};

struct Totals {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t driver_allocations = 0, driver_frees = 0;
};

struct TimelinePoint {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0, requested_bytes = 0, reserved_bytes = 0;
};

// The file and the program that it is of.
struct Source {
  enum class State : std::uint8_t { Open, Closed, Stopped };
  std::string path;
  State state = State::Open;
  bool complete = false;
  std::string mode;
  unsigned process = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t missing_bytes = 0;  // of a file that was cut off
  std::uint64_t lost_events = 0;
  std::vector<std::pair<std::string, std::uint64_t>> lost;      // why, how many; only what there was
  std::vector<std::pair<std::string, std::uint64_t>> oddities;  // likewise
  std::vector<std::string> command;
  std::optional<int> exit_code;  // 128 + signal where one ended the program
  int signal = 0;                // which one; 0 for none
  std::map<std::string, std::string> facts;
};

// Every byte of the devices at the peak, as far as it is known. The residual is what the others do not explain, and is
// negative where others gave memory back since the program began.
struct Ledger {
  std::optional<std::int64_t> residual_bytes;
  std::optional<std::uint64_t> device_used_bytes, context_bytes, other_processes_bytes;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

// What the caches of a served program held together, as one of their samples says.
struct CacheMoment {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0, requested_bytes = 0, reserved_bytes = 0, largest_hole_bytes = 0;
  std::uint64_t cached_bytes() const { return reserved_bytes - live_bytes; }
  std::uint64_t rounding_bytes() const { return live_bytes - requested_bytes; }
};
// A block that kept free ranges apart.
struct Culprit {
  std::uint64_t address = 0;
  std::uint64_t live_bytes = 0, born_ns = 0;  // 0: the trace does not have it
  std::uint64_t before_bytes = 0, after_bytes = 0;
  std::uint64_t given_back_bytes = 0;  // more of whole pages that would be free, were it not there
  std::string layer, name, kind;
  unsigned device = 0;
};
// A mistake of the program's: memory that was freed while other work may still have used it.
struct LateFreeRow {
  std::uint64_t time_ns = 0;
  std::uint64_t address = 0, requested_bytes = 0, freed_stream = 0, used_stream = 0;
  std::optional<std::uint64_t> step;
  std::string freed_layer, phase, used_layer, used_by;
  unsigned device = 0;
};
struct CacheSummary {
  CacheMoment at_peak, at_end;  // of the samples: the first with the most live bytes, the last
  std::uint64_t peak_cached_bytes = 0, peak_rounding_bytes = 0;
  std::uint64_t plan_hits = 0, plan_misses = 0, waits_avoided = 0, given_back_bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t largest_hole_bytes = 0;  // when the culprits were looked for, else at the peak
  std::optional<std::uint64_t> culprits_time_ns;
  std::vector<Culprit> culprits;  // worst first
};

// Of a trace that was kept at a size: its earlier events are sums.
struct FoldedTime {
  std::uint64_t begin_ns = 0;     // where the events begin
  std::uint64_t until_ns = 0;     // from here on every event is there; peaks, tables and timeline are of that time
  std::uint64_t steps_until = 0;  // rows of Summary::steps that are of the time before
  std::optional<std::uint64_t> peak_step;  // where the peak of the run was in that time, and was in a step
  std::uint64_t failures = 0;              // of the whole run
};

struct Summary {
  Source source;
  std::vector<DeviceRow> devices;
  Totals totals;
  bool reserved_from_driver = false;
  std::optional<FoldedTime> folded;
  Anatomy peak;                          // the instant of largest live bytes
  std::optional<Anatomy> at;             // another instant, where one was asked for
  std::optional<std::uint64_t> at_step;  // whose peak it is, where a step was asked for
  // Of the whole run.
  std::uint64_t peak_live_bytes = 0, peak_requested_bytes = 0, peak_reserved_bytes = 0, end_live_bytes = 0;
  std::vector<LayerRow> layers;  // by peak
  std::vector<StepRow> steps;
  std::vector<ClassRow> classes;
  std::vector<FailureRow> failures;
  std::vector<TimelinePoint> timeline;
  Ledger ledger;
  std::optional<CacheSummary> cache;
  std::vector<LateFreeRow> late_frees;
  std::string filter;  // in words; empty: everything is counted
  bool layers_named = false, stacks_recorded = false;
  bool partial = false;  // some blocks of the devices shown are not counted: reserved bytes are not theirs alone
};

// The failure to show: a post-mortem is written once a second at most, so the last one may have none.
inline const FailureRow* last_explained(const Summary& s) {
  for (std::size_t i = s.failures.size(); i-- > 0;)
    if (!s.failures[i].post_mortem.empty()) return &s.failures[i];
  return s.failures.empty() ? nullptr : &s.failures.back();
}
// Of the whole run, also those that are no longer in the trace.
inline std::uint64_t failure_count(const Summary& s) {
  return std::max<std::uint64_t>(s.failures.size(), s.folded ? s.folded->failures : 0);
}

}  // namespace tidemark::analysis
