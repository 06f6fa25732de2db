// SPDX-License-Identifier: Apache-2.0
// The file as a whole: a header in the first chunk, then chunks of records, all of 64 KiB. docs/trace-format.md says
// the same in prose. Everything is little-endian and stands at fixed offsets; the header is changed in place while the
// program runs, so that a program killed at any instant leaves a readable file.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trace/format/words.h"

namespace tidemark::trace {

inline constexpr std::uint64_t kMagic = 0x4b52414d45444954;  // "TIDEMARK"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kChunkBytes = 64 * 1024;
inline constexpr std::uint64_t kSlotBytes = 16;

// A unit of records: the first word's lowest byte is the tag, and is written last.
struct Slot {
  std::uint64_t first, second;
};
static_assert(sizeof(Slot) == kSlotBytes);

enum class ClockKind : std::uint32_t { Monotonic, Tsc };
enum class FileState : std::uint32_t {
  Open,     // being written, or its program was killed
  Closed,   // the program came to its end
  Stopped,  // recording ended before the program did; the losses say why
};
enum class Mode : std::uint32_t { Observe, Cache };

// A reading of the trace's clock and of CLOCK_MONOTONIC at the same moment. Two of them give the clock's rate.
struct ClockPair {
  std::uint64_t ticks = 0, monotonic_ns = 0;
};

// Sums over the whole process, kept in place for whoever looks while it runs.
struct Totals {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t live_bytes = 0, peak_live_bytes = 0;
  std::uint64_t reserved_bytes = 0, peak_reserved_bytes = 0;
};

// What a ring keeps in place. Each of the first two is stored last, when what it names is complete.
struct RingState {
  std::uint64_t base = 0;              // the checkpoint that the timeline begins with; 0: it begins with the trace
  std::uint64_t sums = 0;              // the row of sums that counts; 0: nothing has been folded
  std::uint64_t step = 0;              // the step that runs, since when, and its peak of live bytes so far
  std::uint64_t step_begin_ticks = 0;  // 0: no step has begun
  std::uint64_t step_peak_live_bytes = 0;
  std::uint64_t requested_bytes = 0;  // of live device blocks
  std::uint64_t peak_requested_bytes = 0;
  std::uint64_t unnamed = 0;  // how often a name found no space
};
static_assert(sizeof(RingState) == 64);

struct FileHeader {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t header_bytes = 0;
  std::uint64_t chunk_bytes = kChunkBytes;
  std::uint64_t chunks = 0;  // this one included; what lies behind them is space, not trace
  ClockKind clock = ClockKind::Monotonic;
  FileState state = FileState::Open;
  Mode mode = Mode::Observe;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::int32_t exit_status = -1;       // as waitpid gives it, written by the launcher; -1: not known
  std::uint64_t realtime_ns = 0;       // when the trace began
  std::uint64_t ticks_per_second = 0;  // an estimate, for files too short for their own
  ClockPair begin, latest;
  Totals totals;
  std::uint64_t lost[kLossCount] = {};
  std::uint64_t ring_bytes = 0;  // 0: everything is kept
  RingState ring;
};
static_assert(sizeof(FileHeader) == 256 && sizeof(FileHeader) % kSlotBytes == 0);
// Headers of the first writers end before the ring's state.
inline constexpr std::uint32_t kHeaderBytesWithoutRing = 192;

enum class ChunkKind : std::uint8_t {
  None,        // space that nobody uses
  Events,      // of one thread at a time
  Shared,      // names and facts, of all threads; never reused
  Checkpoint,  // of a ring: what was alive
  Sums,        // of a ring: what the events came to that are no longer there
};

// What a record means depends on these; they stand at the head of a chunk and where a thread takes a chunk over.
struct Context {
  std::uint32_t thread = 0;  // number in order of first appearance, from 1
  std::uint32_t scope = 0;   // id of a Path; 0: none
  std::uint32_t stream = 0;  // id of a StreamName; 0: none
  std::uint32_t stack = 0;   // id of a StackTrace; 0: none
  std::uint64_t step = 0;
  std::uint8_t phase = 0;
  std::uint8_t device = 0;
  std::uint8_t stepped = 0;  // 0: before the first step
  std::uint8_t reserved8 = 0;
  std::uint32_t reserved32 = 0;
};
static_assert(sizeof(Context) == 32);

// Before the first step, where that is a number.
inline constexpr std::uint64_t kNoStep = ~std::uint64_t{0};
constexpr std::uint64_t step_of(const Context& c) {
  return c.stepped != 0 ? c.step : kNoStep;
}

inline constexpr std::uint32_t kChunkMagic = 0x43444954;  // "TIDC"

struct ChunkHeader {
  std::uint32_t magic = 0;
  ChunkKind kind = ChunkKind::None;
  std::uint8_t has_live = 0;  // of events: 1 when a Live is among them
  std::uint16_t reserved16 = 0;
  std::uint64_t sequence = 0;    // order in which chunks were taken, over all threads, from 1
  std::uint64_t base_ticks = 0;  // the time base that the first records count from
  std::uint64_t part_of = 0;     // the number of the checkpoint, or of the row of sums
  Context context;
};
static_assert(sizeof(ChunkHeader) == 64);

inline constexpr std::size_t kChunkSlots = (kChunkBytes - sizeof(ChunkHeader)) / kSlotBytes;

}  // namespace tidemark::trace
