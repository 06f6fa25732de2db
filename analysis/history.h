// SPDX-License-Identifier: Apache-2.0
// What a trace tells, as lifetimes of blocks: the one pass over a trace's events ends here, and every question is asked
// of this table. So a property that shows only later (a kind told after the allocation, a segment that turns out to
// hold tensors) holds for a block's whole life.
//
// A row is 64 bytes and a change 4: a trace of ten million events takes some 360 MB.
//
// Which blocks count (`counts_in_live`), and so what every sum is a sum over: blocks on the device, except those that
// hold a framework's tensors; for these the tensors count. docs/decisions/0007-tensors-and-live.md says why.
//
// Plain data, made once and then read by any number of threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/folded.h"
#include "base/bytes.h"
#include "trace/format/words.h"
#include "trace/read/ordered.h"
#include "trace/read/trace.h"

namespace tidemark::analysis {

inline constexpr std::uint64_t kLiveGranule = 512;
// All sums of sizes stay below this, so that none can overflow; no machine comes near it. There are up to 256 devices.
inline constexpr std::uint64_t kLargestSum = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};
inline constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

// How a block's kind is known.
enum class KindSource : std::uint8_t { None, Given, Inferred };

struct Block {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;  // requested
  std::uint64_t born_ns = 0;
  std::uint64_t died_ns = kNever;
  std::uint32_t layer = 0;       // in History::layers
  std::uint32_t stack = 0;       // in History::stacks
  std::uint32_t step = kNoStep;  // in History::steps
  std::uint32_t name = 0;        // in History::names
  std::uint32_t thread = 0;
  std::uint32_t stream = 0;
  trace::Class block_class = trace::Class::Device;
  trace::Phase phase = trace::Phase::Other;
  trace::Kind kind = trace::Kind::Other;  // what was said first; History::retags changes it
  KindSource kind_source = KindSource::None;
  std::uint8_t device = 0;
  bool observed : 1 = false;  // the driver was asked for this very block
  bool holds_tensors : 1 = false;
  bool retagged : 1 = false;
};
static_assert(sizeof(Block) == 64);

constexpr bool is_tensor(const Block& b) {
  return b.block_class == trace::Class::Tensor;
}
constexpr bool counts_in_live(const Block& b) {
  return is_tensor(b) || (trace::on_device(b.block_class) && !b.holds_tensors);
}
constexpr std::uint64_t rounded_bytes(const Block& b) {
  return round_up(b.size_bytes, kLiveGranule);
}

// A birth or a death. Its place among all of them is the unit in which History counts instants: n is after the first n.
struct Change {
  std::uint32_t block : 31;
  std::uint32_t freed : 1;
};

struct StepMark {
  std::uint64_t step = 0;
  std::uint64_t at = 0;  // changes before it
  std::uint64_t time_ns = 0;
};
// The program calls a block something else from here on.
struct Retag {
  std::uint64_t at = 0;
  std::uint64_t time_ns = 0;
  std::uint32_t block = 0;
  trace::Kind kind = trace::Kind::Other;
};
struct DeviceSample {
  std::uint64_t at = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t used_bytes = 0, total_bytes = 0;
  std::uint64_t process_bytes = 0;
  std::uint8_t device = 0;
  std::uint8_t source = 0;  // trace::DeviceUse::Source
};
struct FailedAllocation {
  std::uint64_t at = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t size_bytes = 0, free_bytes = 0;
  std::uint32_t layer = 0;
  std::uint32_t stack = 0;  // in History::stacks
  std::uint32_t step = kNoStep;
  trace::Class block_class = trace::Class::Device;
  trace::Phase phase = trace::Phase::Other;
  std::uint8_t device = 0;
  std::uint16_t error = 0;
  std::string post_mortem;
};

// Of a cache: what it held, and what it had done, at a moment.
struct CacheSample {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0, requested_bytes = 0, reserved_bytes = 0, largest_hole_bytes = 0;
  std::uint8_t device = 0, cache = 0;
};
struct CacheCountSample {
  std::uint64_t time_ns = 0;
  std::uint64_t plan_hits = 0, plan_misses = 0, waits_avoided = 0, given_back_bytes = 0;
  std::uint8_t device = 0, cache = 0;
};
// A block between free ranges, when the sample was taken.
struct PinSample {
  std::uint64_t time_ns = 0;
  std::uint64_t address = 0, before_bytes = 0, after_bytes = 0, given_back_bytes = 0;
  std::size_t sample = 0;  // in History::cache_samples
  std::uint8_t device = 0, cache = 0;
};

// A block that was freed while work of another stream may still have used it.
struct LateFreeSample {
  std::uint64_t time_ns = 0;
  std::uint64_t address = 0, size_bytes = 0, freed_stream = 0, used_stream = 0;
  std::uint32_t freed_layer = 0, used_layer = 0, step = kNoStep;
  trace::Phase phase = trace::Phase::Other;
  std::uint8_t device = 0, by = 0;  // trace::LateFree::By
};

struct History {
  std::vector<Block> blocks;  // in the order of their births
  std::vector<Change> changes;
  std::vector<StepMark> steps;
  std::vector<Retag> retags;
  std::vector<DeviceSample> samples;
  std::vector<FailedAllocation> failures;
  std::vector<CacheSample> cache_samples;
  std::vector<CacheCountSample> cache_counts;
  std::vector<PinSample> pins;
  std::vector<LateFreeSample> late_frees;
  std::unordered_map<std::uint32_t, std::uint32_t> behind;  // a mapping's block to the physical block mapped there
  std::vector<std::string> layers{"(unscoped)"};
  std::vector<std::uint32_t> stacks{0};  // by their numbers in the trace; the first is none
  std::vector<std::string> names{""};
  trace::Oddities oddities;
  std::uint64_t implausible_sizes = 0;  // blocks larger than any device: counted as empty
  std::uint64_t left_out = 0;           // events beyond what a table of this kind holds
  std::uint64_t end_ns = 0;
  // Of a trace that was kept at a size, once events of it were folded. Then the history begins with the births of all
  // that was alive.
  std::optional<Folded> folded;

  std::uint64_t time_of(Change c) const { return c.freed ? blocks[c.block].died_ns : blocks[c.block].born_ns; }
};

History read_history(const trace::Trace& trace);

}  // namespace tidemark::analysis
