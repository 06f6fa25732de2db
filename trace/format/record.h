// SPDX-License-Identifier: Apache-2.0
// The records: each struct is the format, bit by bit (fields of a word are filled from its lowest bit).
//
// The tag, the lowest byte of a record's first word, gives the number of slots, so that a reader skips what it does not
// know:
//   1..127    one slot
//   128..191  two slots
//   192..255  as many as the second byte says
// Tag 0 ends a chunk. A writer stores the rest of a record first and the word with the tag last.
//
// Times are ticks of the file's clock after the latest TimeBase of the chunk (at first, its header's). What a record
// does not say (thread, scope, phase, step, stream, stack, device) is the chunk's context as changed by the records
// before it.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "trace/format/layout.h"

namespace tidemark::trace {

enum class Tag : std::uint8_t {
  End = 0,
  Alloc = 1,
  Free = 2,
  TimeBase = 3,
  Scope = 4,
  PhaseStart = 5,
  Step = 6,
  Stream = 7,
  Stack = 8,
  Device = 9,
  Label = 10,
  Path = 11,
  AllocLong = 128,
  FreeLong = 129,
  DeviceUse = 130,
  Failure = 131,
  StreamName = 132,
  Kernel = 140,
  Resume = 192,
  String = 193,
  Fact = 194,
  StackTrace = 195,
  Object = 196,
  Live = 200,
  CheckpointHead = 201,
  Relabel = 202,
  Sum = 203,
  StepSum = 204,
  Folded = 205,
  CacheUse = 206,
  CacheCounts = 207,
  Pin = 208,
  LateFree = 209,
};

inline constexpr unsigned kTimeBits = 28;
inline constexpr std::uint64_t kTimeLimit = std::uint64_t{1} << kTimeBits;
inline constexpr unsigned kAddressShift = 8;
inline constexpr std::uint64_t kShortAddressLimit = std::uint64_t{1} << (40 + kAddressShift);
inline constexpr std::uint64_t kShortSizeLimit = std::uint64_t{1} << 40;

// The number of slots of the record that begins with this word; 0 for the end of a chunk and for nonsense.
constexpr unsigned slots_of(std::uint64_t first) {
  unsigned const tag = first & 0xff;
  if (tag == 0) return 0;
  return tag < 128 ? 1 : tag < 192 ? 2 : static_cast<unsigned>(first >> 8 & 0xff);
}
constexpr Tag tag_of(std::uint64_t first) {
  return static_cast<Tag>(first & 0xff);
}

// A block was handed out. `generation` counts the owners of a served address (modulo 256), so that a reader can put the
// events of one address in order whatever the clocks said; 0 for blocks that were only observed.
struct Alloc {
  static constexpr Tag kTag = Tag::Alloc;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), block_class : 4 = 0, generation : 8 = 0, time : 28 = 0,
                      size_high : 16 = 0;
  std::uint64_t address_256 : 40 = 0, size_low : 24 = 0;

  std::uint64_t address() const { return std::uint64_t{address_256} << kAddressShift; }
  std::uint64_t size_bytes() const { return std::uint64_t{size_high} << 24 | size_low; }
};

struct Free {
  static constexpr Tag kTag = Tag::Free;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), block_class : 4 = 0, generation : 8 = 0, time : 28 = 0,
                      reserved : 16 = 0;
  std::uint64_t address_256 : 40 = 0, reserved24 : 24 = 0;

  std::uint64_t address() const { return std::uint64_t{address_256} << kAddressShift; }
};

// For addresses that are not multiples of 256 or beyond 48 bits, and for sizes from 1 TiB on.
struct AllocLong {
  static constexpr Tag kTag = Tag::AllocLong;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), block_class : 4 = 0, generation : 8 = 0, time : 28 = 0,
                      reserved : 16 = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t parent = 0;  // the block that this one is a view of: a mapping's physical block; 0: none
};

struct FreeLong {
  static constexpr Tag kTag = Tag::FreeLong;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), block_class : 4 = 0, generation : 8 = 0, time : 28 = 0,
                      reserved : 16 = 0;
  std::uint64_t address = 0;
  std::uint64_t reserved64[2] = {};
};

struct TimeBase {
  static constexpr Tag kTag = Tag::TimeBase;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved : 56 = 0;
  std::uint64_t ticks = 0;
};

// The layer that is open from here on.
struct Scope {
  static constexpr Tag kTag = Tag::Scope;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved12 : 12 = 0, time : 28 = 0, reserved16 : 16 = 0;
  std::uint64_t path : 32 = 0, reserved32 : 32 = 0;
};

struct PhaseStart {
  static constexpr Tag kTag = Tag::PhaseStart;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved12 : 12 = 0, time : 28 = 0, reserved16 : 16 = 0;
  std::uint64_t phase : 8 = 0, reserved56 : 56 = 0;
};

struct Step {
  static constexpr Tag kTag = Tag::Step;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved12 : 12 = 0, time : 28 = 0, reserved16 : 16 = 0;
  std::uint64_t step = 0;
};

// The stream, call stack or device of what follows.
template <Tag t>
struct Switch {
  static constexpr Tag kTag = t;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved : 56 = 0;
  std::uint64_t id = 0;
};
using Stream = Switch<Tag::Stream>;
using Stack = Switch<Tag::Stack>;
using Device = Switch<Tag::Device>;

// The program says what a live block is. `name` is a String, 0 for none.
struct Label {
  static constexpr Tag kTag = Tag::Label;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), kind : 12 = 0, time : 28 = 0, name_high : 16 = 0;
  std::uint64_t address_256 : 40 = 0, name_low : 24 = 0;

  std::uint64_t address() const { return std::uint64_t{address_256} << kAddressShift; }
  std::uint32_t name() const { return static_cast<std::uint32_t>(name_high << 24 | name_low); }
};

// A layer's name: its own part, and the layer around it. In shared chunks, before its first use.
struct Path {
  static constexpr Tag kTag = Tag::Path;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), reserved : 24 = 0, id : 32 = 0;
  std::uint64_t parent : 32 = 0, name : 32 = 0;
};

// What the driver says is taken of a device, by everybody, after a call that changed it.
struct DeviceUse {
  static constexpr Tag kTag = Tag::DeviceUse;
  enum Source : std::uint64_t { Driver, Nvml };
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), device : 8 = 0, source : 4 = 0, time : 28 = 0,
                      reserved : 16 = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t process_bytes = 0;  // from the driver: what this process's blocks have taken; from NVML: all it holds
};

// An allocation that the device refused.
struct Failure {
  static constexpr Tag kTag = Tag::Failure;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), block_class : 4 = 0, device : 8 = 0, time : 28 = 0,
                      error : 16 = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t text : 32 = 0, reserved : 32 = 0;  // the post-mortem, a String
};

struct StreamName {
  static constexpr Tag kTag = Tag::StreamName;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), device : 8 = 0, reserved : 16 = 0, id : 32 = 0;
  std::uint64_t handle = 0;
  std::uint64_t flags = 0;
  std::uint64_t reserved64 = 0;
};

// A kernel that has run on a device, as CUPTI tells it. Times are of the device's work, not of a thread's: they may
// step back from record to record. Layer, phase and step are those that were open where it was launched.
struct Kernel {
  static constexpr Tag kTag = Tag::Kernel;
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kStepMask = (std::uint64_t{1} << 28) - 1;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), device : 8 = 0, unscoped : 4 = 0, time : 28 = 0,
                      reserved : 16 = 0;
  std::uint64_t name : 32 = 0, path : 32 = 0;
  std::uint64_t duration_ns : 40 = 0, reserved24 : 24 = 0;
  std::uint64_t stream : 32 = 0, phase : 4 = 0, step : 28 = 0;
};

// A chunk changes hands: the thread before has ended.
struct Resume {
  static constexpr Tag kTag = Tag::Resume;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, reserved : 48 = 0;
  std::uint64_t base_ticks = 0;
  Context context;
};

// Records with text or numbers behind them: this slot, then `length` bytes, zero up to the slot's end. Text that does
// not fit one record goes on in the next with the same id and a higher part.
struct String {
  static constexpr Tag kTag = Tag::String;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 0, part : 16 = 0, id : 32 = 0;
  std::uint64_t length : 32 = 0, reserved : 32 = 0;
};

// Something about the run: the text is KEY, a zero byte, VALUE.
struct Fact {
  static constexpr Tag kTag = Tag::Fact;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 0, part : 16 = 0, id : 32 = 0;
  std::uint64_t length : 32 = 0, reserved : 32 = 0;
};

// Return addresses, innermost first; `length` is 8 bytes for each. Each belongs to the latest Object before this record
// that spans it.
struct StackTrace {
  static constexpr Tag kTag = Tag::StackTrace;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 0, part : 16 = 0, id : 32 = 0;
  std::uint64_t length : 32 = 0, end : 8 = 0, replaced : 24 = 0;  // a StackEnd; how many Objects took others' addresses
};
inline constexpr std::size_t kLongestText = 254 * kSlotBytes;
inline constexpr std::size_t kMostFrames = kLongestText / 8;

// A loaded file with code on a call stack: a program or a library. It ends what had its addresses before. Behind the
// three slots stand `length` bytes: the build id, then the path.
struct Object {
  static constexpr Tag kTag = Tag::Object;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 0, part : 16 = 0, id : 32 = 0;
  std::uint64_t length : 32 = 0, build_id_bytes : 8 = 0, reserved : 24 = 0;
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;   // an address less this is the file's own
  std::uint64_t ticks = 0;  // when it was first seen
};

template <class R>
concept Record = std::is_trivially_copyable_v<R> && sizeof(R) % kSlotBytes == 0 && requires {
  R::kTag;
};

template <Record R>
inline constexpr unsigned kSlots = sizeof(R) / kSlotBytes;

// Tags and sizes agree: a record that broke this rule could not be skipped.
template <Record R>
inline constexpr bool kWellFormed = static_cast<unsigned>(R::kTag) >= 192 ||
                                    slots_of(static_cast<std::uint64_t>(R::kTag)) == kSlots<R>;
static_assert(kWellFormed<Alloc> && kWellFormed<Free> && kWellFormed<TimeBase> && kWellFormed<Scope> &&
              kWellFormed<PhaseStart> && kWellFormed<Step> && kWellFormed<Stream> && kWellFormed<Stack> &&
              kWellFormed<Device> && kWellFormed<Label> && kWellFormed<Path> && kWellFormed<AllocLong> &&
              kWellFormed<FreeLong> && kWellFormed<DeviceUse> && kWellFormed<Failure> && kWellFormed<StreamName> &&
              kWellFormed<Kernel>);
static_assert(sizeof(Resume) == 3 * kSlotBytes && sizeof(String) == kSlotBytes && sizeof(Fact) == kSlotBytes &&
              sizeof(StackTrace) == kSlotBytes && sizeof(Object) == 3 * kSlotBytes);

template <Record R>
R decode(const Slot* slots) {
  std::array<Slot, kSlots<R>> raw;
  std::memcpy(raw.data(), slots, sizeof raw);
  return std::bit_cast<R>(raw);
}

// The number of slots of the record at `at`; 0 at the end of what has been written.
inline unsigned record_at(const Slot* at, const Slot* end) {
  if (at >= end) return 0;
  // The writer may still be at work: what its tag announces is there once the tag is.
  std::uint64_t const first = std::atomic_ref(const_cast<Slot*>(at)->first).load(std::memory_order_acquire);
  unsigned const slots = slots_of(first);
  return slots <= static_cast<std::size_t>(end - at) ? slots : 0;
}

// Calls f(first slot, number of slots) for each record, up to the end of what has been written.
template <class F>
void for_each_record(const Slot* begin, const Slot* end, F f) {
  const Slot* at = begin;
  while (unsigned const slots = record_at(at, end)) {
    f(at, slots);
    at += slots;
  }
}

}  // namespace tidemark::trace
