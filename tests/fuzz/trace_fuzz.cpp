// SPDX-License-Identifier: Apache-2.0
// A trace is untrusted input: any bytes end in an error or a partial result, on the whole way to a report.
//
// Files are large and mostly empty, so an input is a small piece of one: 192 bytes that are mixed into a good header,
// 64 into the heads of its two chunks, and slots, the first half of them names, the second half events.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "analysis/report/json.h"
#include "analysis/report/text.h"
#include "analysis/summarize.h"
#include "trace/read/trace.h"

using namespace tidemark::trace;

namespace {

using Bytes = std::span<const std::uint8_t>;

Bytes cut(Bytes& input, std::size_t count) {
  Bytes const piece = input.first(std::min(count, input.size()));
  input = input.subspan(piece.size());
  return piece;
}

void mix(std::byte* target, Bytes piece) {
  for (std::size_t i = 0; i < piece.size(); ++i) target[i] ^= std::byte{piece[i]};
}

// One file for all inputs.
std::byte* file(std::string* path) {
  static int const descriptor = memfd_create("trace", 0);
  static void* const mapped = [] {
    if (ftruncate(descriptor, 3 * kChunkBytes) != 0) std::abort();
    return mmap(nullptr, 3 * kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }();
  *path = "/proc/self/fd/" + std::to_string(descriptor);
  std::memset(mapped, 0, 3 * kChunkBytes);
  return static_cast<std::byte*>(mapped);
}

// Whatever was read, its sums agree.
void report(const Trace& trace) {
  using namespace tidemark::analysis;
  auto const s = summarize(trace, {.at_ns = 1000, .timeline_points = 16, .layer_timelines = true, .largest_blocks = 4});
  if (!s.ok()) std::abort();
  for (Anatomy const* const a : {&s->peak, &*s->at})
    for (auto const* const rows : {&a->by_kind, &a->by_layer, &a->by_phase, &a->by_step, &a->by_stack}) {
      std::uint64_t sum = 0;
      for (Row const& row : *rows) sum += row.live_bytes;
      if (sum != a->live_bytes || a->live_bytes > a->reserved_bytes) std::abort();
    }
  static_cast<void>(report::text_report(*s, {.colour = true}));
  static_cast<void>(report::text_report(*s, {.by = report::By::Stack, .top = 2, .width = 60, .unicode = false}));
  static_cast<void>(report::json_report(*s, {.by = report::By::Step, .timeline = true}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string path;
  std::byte* const at = file(&path);
  Bytes input(data, size);
  new (at) FileHeader{
      .header_bytes = sizeof(FileHeader), .chunks = 3, .clock = ClockKind::Tsc, .ticks_per_second = 2'000'000'000};
  new (at + kChunkBytes) ChunkHeader{.magic = kChunkMagic, .kind = ChunkKind::Shared, .sequence = 1};
  new (at + 2 * kChunkBytes) ChunkHeader{.magic = kChunkMagic, .kind = ChunkKind::Events, .sequence = 2};
  mix(at, cut(input, kHeaderBytesWithoutRing));
  mix(at + kChunkBytes, cut(input, 32));
  mix(at + 2 * kChunkBytes, cut(input, 32));
  Bytes const names = cut(input, std::min(input.size() / 2 / kSlotBytes * kSlotBytes, kChunkSlots * kSlotBytes));
  std::copy(names.begin(), names.end(), reinterpret_cast<std::uint8_t*>(at + kChunkBytes + sizeof(ChunkHeader)));
  Bytes const events = cut(input, kChunkSlots * kSlotBytes);
  std::copy(events.begin(), events.end(), reinterpret_cast<std::uint8_t*>(at + 2 * kChunkBytes + sizeof(ChunkHeader)));

  auto const trace = Trace::open(path);
  if (!trace.ok()) return 0;
  std::vector<Event> decoded;
  for (std::size_t i = 0; i < trace->event_chunks(); ++i) trace->decode_chunk(i, decoded);
  if (decoded.size() > 2 * kChunkSlots) std::abort();
  report(*trace);
  for (Event const& e : decoded) {
    static_cast<void>(trace->names().path(e.context.scope));
    static_cast<void>(trace->names().string(e.name));
    for (std::uint64_t const address : trace->names().stack(e.context.stack))
      static_cast<void>(trace->names().object_at(e.context.stack, address));
    static_cast<void>(trace->nanoseconds(e.ticks));
  }
  return 0;
}
