// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_maker.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tidemark::trace {

TraceMaker::TraceMaker() {
  header_.header_bytes = sizeof(FileHeader);
  header_.state = FileState::Closed;
  header_.pid = 4242;
  header_.parent_pid = 4200;
  header_.exit_status = 0;
  header_.ticks_per_second = 1'000'000'000;
  shared_ = take(ChunkKind::Shared, 0);
}

std::size_t TraceMaker::take(ChunkKind kind, std::uint32_t thread) {
  Chunk chunk;
  chunk.head.magic = kChunkMagic;
  chunk.head.kind = kind;
  chunk.head.sequence = chunks_.size() + 1;
  chunk.head.context = contexts_[thread];
  chunk.head.context.thread = thread;
  chunks_.push_back(std::move(chunk));
  return chunks_.size() - 1;
}

template <class R>
void TraceMaker::put(Chunk& chunk, const R& record) {
  std::size_t const at = chunk.slots.size();
  chunk.slots.resize(at + kSlots<R>);
  std::memcpy(chunk.slots.data() + at, &record, sizeof record);
}

TraceMaker::Chunk& TraceMaker::chunk_of(std::uint32_t thread, std::size_t slots) {
  auto const known = current_.find(thread);
  bool const fits = known != current_.end() && chunks_[known->second].slots.size() + slots < kChunkSlots;
  if (!fits) current_[thread] = take(ChunkKind::Events, thread);
  return chunks_[current_[thread]];
}

// Each record counts from a base of its own: stamps may go back and forth.
template <class R>
void TraceMaker::event(std::uint32_t thread, std::uint64_t ticks, R record) {
  Chunk& chunk = chunk_of(thread, 1 + kSlots<R>);
  put(chunk, TimeBase{.ticks = ticks});
  record.time = 0;
  put(chunk, record);
  header_.latest = {.ticks = std::max(header_.latest.ticks, ticks),
                    .monotonic_ns = std::max(header_.latest.ticks, ticks)};
}

template <class R>
void TraceMaker::text(R head, std::string_view bytes) {
  std::size_t const slots = 1 + (bytes.size() + kSlotBytes - 1) / kSlotBytes;
  if (chunks_[shared_].slots.size() + slots >= kChunkSlots) shared_ = take(ChunkKind::Shared, 0);
  head.slots = slots;
  head.length = bytes.size();
  Chunk& chunk = chunks_[shared_];
  std::size_t const at = chunk.slots.size();
  chunk.slots.resize(at + slots);
  std::memcpy(chunk.slots.data() + at, &head, sizeof head);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(chunk.slots.data() + at + 1));
}

std::uint32_t TraceMaker::string(std::string_view words) {
  text(String{.id = next_id_}, words);
  return next_id_++;
}
std::uint32_t TraceMaker::path(std::string_view name, std::uint32_t parent) {
  std::uint32_t const word = string(name);
  if (chunks_[shared_].slots.size() + 1 >= kChunkSlots) shared_ = take(ChunkKind::Shared, 0);
  put(chunks_[shared_], Path{.id = next_id_, .parent = parent, .name = word});
  return next_id_++;
}
std::uint32_t TraceMaker::stack(const std::vector<std::uint64_t>& frames) {
  text(StackTrace{.id = next_id_}, {reinterpret_cast<const char*>(frames.data()), frames.size() * 8});
  return next_id_++;
}
void TraceMaker::fact(std::string_view key, std::string_view value) {
  text(Fact{.id = next_id_++}, std::string(key) + '\0' + std::string(value));
}

void TraceMaker::alloc(std::uint32_t thread, std::uint64_t ticks, const MadeBlock& b) {
  event(thread, ticks,
        AllocLong{.block_class = static_cast<std::uint64_t>(b.block_class),
                  .generation = b.generation,
                  .address = b.address,
                  .size_bytes = b.size_bytes,
                  .parent = b.parent});
}
void TraceMaker::free(std::uint32_t thread, std::uint64_t ticks, const MadeBlock& b) {
  event(
      thread, ticks,
      FreeLong{
          .block_class = static_cast<std::uint64_t>(b.block_class), .generation = b.generation, .address = b.address});
}
void TraceMaker::label(std::uint32_t thread, std::uint64_t ticks, std::uint64_t address, Kind kind,
                       std::uint32_t name) {
  event(thread, ticks,
        Label{.kind = static_cast<std::uint64_t>(kind),
              .name_high = name >> 24,
              .address_256 = address >> kAddressShift,
              .name_low = name & 0xffffff});
}
void TraceMaker::scope(std::uint32_t thread, std::uint64_t ticks, std::uint32_t path) {
  contexts_[thread].scope = path;
  event(thread, ticks, Scope{.path = path});
}
void TraceMaker::phase(std::uint32_t thread, std::uint64_t ticks, Phase phase) {
  contexts_[thread].phase = static_cast<std::uint8_t>(phase);
  event(thread, ticks, PhaseStart{.phase = static_cast<std::uint64_t>(phase)});
}
void TraceMaker::step(std::uint32_t thread, std::uint64_t ticks, std::uint64_t step) {
  contexts_[thread].step = step;
  event(thread, ticks, Step{.step = step});
}
void TraceMaker::device_use(std::uint32_t thread, std::uint64_t ticks, const DeviceUse& use) {
  event(thread, ticks, use);
}
void TraceMaker::failure(std::uint32_t thread, std::uint64_t ticks, const Failure& failure) {
  event(thread, ticks, failure);
}
void TraceMaker::cache_use(std::uint32_t thread, std::uint64_t ticks, const CacheUse& use, const CacheCounts& counts) {
  event(thread, ticks, use);
  event(thread, ticks, counts);
}
void TraceMaker::pin(std::uint32_t thread, std::uint64_t ticks, const Pin& pin) {
  event(thread, ticks, pin);
}
void TraceMaker::late_free(std::uint32_t thread, std::uint64_t ticks, const LateFree& free) {
  event(thread, ticks, free);
}
void TraceMaker::use_stack(std::uint32_t thread, std::uint32_t stack) {
  contexts_[thread].stack = stack;
  put(chunk_of(thread, 1), Stack{.id = stack});
}
void TraceMaker::use_device(std::uint32_t thread, std::uint8_t device) {
  contexts_[thread].device = device;
  put(chunk_of(thread, 1), Device{.id = device});
}

void TraceMaker::relabel(std::uint32_t thread, std::uint64_t ticks, const Relabel& relabel) {
  event(thread, ticks, relabel);
}
void TraceMaker::still_live(std::uint32_t thread, std::uint64_t ticks, const Live& block) {
  Chunk& chunk = chunk_of(thread, 1 + kSlots<Live>);
  chunk.head.has_live = 1;
  put(chunk, TimeBase{.ticks = ticks});
  put(chunk, block);
}
void TraceMaker::checkpoint(const CheckpointHead& head, const std::vector<Live>& blocks) {
  Chunk& chunk = chunks_[take(ChunkKind::Checkpoint, 0)];
  chunk.head.part_of = head.number;
  for (Live const& block : blocks) put(chunk, block);
  put(chunk, head);
}
void TraceMaker::sums(std::uint64_t number, const std::vector<Sum>& rows, const std::vector<StepSum>& steps) {
  Chunk& chunk = chunks_[take(ChunkKind::Sums, 0)];
  chunk.head.part_of = number;
  for (Sum const& row : rows) put(chunk, row);
  for (StepSum const& row : steps) put(chunk, row);
  put(chunk, Folded{});
}

std::string TraceMaker::bytes() const {
  std::string out((chunks_.size() + 1) * kChunkBytes, '\0');
  FileHeader header = header_;
  header.chunks = chunks_.size() + 1;
  std::memcpy(out.data(), &header, sizeof header);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    char* const at = out.data() + (i + 1) * kChunkBytes;
    std::memcpy(at, &chunks_[i].head, sizeof(ChunkHeader));
    auto const* const slots = reinterpret_cast<const char*>(chunks_[i].slots.data());
    std::copy_n(slots, chunks_[i].slots.size() * kSlotBytes, at + sizeof(ChunkHeader));
  }
  return out;
}

void TraceMaker::save(const std::string& path) const {
  std::string const out = bytes();
  std::ofstream(path, std::ios::binary).write(out.data(), static_cast<std::streamsize>(out.size()));
}

}  // namespace tidemark::trace
