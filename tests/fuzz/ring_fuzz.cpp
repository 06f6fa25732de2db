// SPDX-License-Identifier: Apache-2.0
// A ring is untrusted input as every trace is: its checkpoint, its sums and what they say of its chunks.
//
// An input is a small piece of a file: 64 bytes that are mixed into a good state of the ring, 32 into the head of each
// of four chunks, and then slots: a third for the checkpoint, a third for the sums, a third for events.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "analysis/report/json.h"
#include "analysis/report/text.h"
#include "analysis/summarize.h"
#include "trace/read/sums.h"

using namespace tidemark::trace;

namespace {

using Bytes = std::span<const std::uint8_t>;
constexpr std::size_t kChunks = 6;

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
  static int const descriptor = memfd_create("ring", 0);
  static void* const mapped = [] {
    if (ftruncate(descriptor, kChunks * kChunkBytes) != 0) std::abort();
    return mmap(nullptr, kChunks * kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }();
  *path = "/proc/self/fd/" + std::to_string(descriptor);
  std::memset(mapped, 0, kChunks * kChunkBytes);
  return static_cast<std::byte*>(mapped);
}

void put(std::byte* chunk, Bytes slots) {
  std::copy(slots.begin(), slots.end(), reinterpret_cast<std::uint8_t*>(chunk + sizeof(ChunkHeader)));
}

// Whatever was read, its tables agree.
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
  static_cast<void>(report::json_report(*s, {.by = report::By::Step, .timeline = true}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string path;
  std::byte* const at = file(&path);
  Bytes input(data, size);
  new (at) FileHeader{.header_bytes = sizeof(FileHeader),
                      .chunks = kChunks,
                      .clock = ClockKind::Tsc,
                      .ticks_per_second = 2'000'000'000,
                      .ring_bytes = 4 << 20,
                      .ring = {.base = 1, .sums = 1}};
  mix(at + offsetof(FileHeader, ring), cut(input, sizeof(RingState)));
  constexpr std::array kKinds{ChunkKind::Checkpoint, ChunkKind::Sums, ChunkKind::Events, ChunkKind::Events};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    std::byte* const chunk = at + (i + 1) * kChunkBytes;
    new (chunk) ChunkHeader{.magic = kChunkMagic, .kind = kKinds[i], .sequence = i + 1, .part_of = 1};
    mix(chunk, cut(input, 32));
  }
  std::size_t const third = std::min(input.size() / 3 / kSlotBytes * kSlotBytes, kChunkSlots * kSlotBytes);
  put(at + kChunkBytes, cut(input, third));
  put(at + 2 * kChunkBytes, cut(input, third));
  Bytes const events = cut(input, kChunkSlots * kSlotBytes);
  put(at + 3 * kChunkBytes, events);
  put(at + 4 * kChunkBytes, events);  // the same once more, of another thread or folded

  auto const trace = Trace::open(path);
  if (!trace.ok()) return 0;
  Sums const sums = sum_up(*trace);
  if (sums.rows.size() > 4 * kChunkSlots) std::abort();
  report(*trace);
  return 0;
}
