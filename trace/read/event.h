// SPDX-License-Identifier: Apache-2.0
// A record with everything that it leaves to its context filled in.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/format/record.h"

namespace tidemark::trace {

struct Event {
  enum class Type : std::uint8_t { Alloc, Free, Scope, Phase, Step, Label, DeviceUse, Failure };

  std::uint64_t ticks = 0;
  Type type = Type::Alloc;
  Class block_class = Class::Device;
  Kind kind = Kind::Other;  // of a Label
  std::uint8_t generation = 0;
  std::uint8_t source = 0;  // of a DeviceUse
  std::uint16_t error = 0;  // of a Failure
  std::uint32_t name = 0;   // String: of a Label, of a Failure's text
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;  // of a Failure: what was asked for; of a DeviceUse: used
  std::uint64_t other = 0;       // of an Alloc: the parent block; of a DeviceUse: total; of a Failure: free
  Context context;               // as it is after this event
};

// Appends the events of one chunk's slots, in the order in which they were written.
void decode(const ChunkHeader& head, const Slot* begin, const Slot* end, std::vector<Event>& out);

}  // namespace tidemark::trace
