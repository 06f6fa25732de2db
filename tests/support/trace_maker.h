// SPDX-License-Identifier: Apache-2.0
// Traces with chosen stamps, written straight from the format: trace/write stamps with the machine's clock, and a test
// of order wants to say what the clocks said. Ticks are nanoseconds since the beginning.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format/cache.h"
#include "trace/format/ring.h"

namespace tidemark::trace {

struct MadeBlock {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  Class block_class = Class::Device;
  std::uint8_t generation = 0;
  std::uint64_t parent = 0;
};

class TraceMaker {
 public:
  TraceMaker();

  FileHeader& header() { return header_; }

  // Names. 0 stands for none.
  std::uint32_t string(std::string_view text);
  std::uint32_t path(std::string_view name, std::uint32_t parent = 0);
  std::uint32_t stack(const std::vector<std::uint64_t>& frames);
  void fact(std::string_view key, std::string_view value);

  // Events of a thread, in the order of the calls.
  void alloc(std::uint32_t thread, std::uint64_t ticks, const MadeBlock& block);
  void free(std::uint32_t thread, std::uint64_t ticks, const MadeBlock& block);
  void label(std::uint32_t thread, std::uint64_t ticks, std::uint64_t address, Kind kind, std::uint32_t name = 0);
  void scope(std::uint32_t thread, std::uint64_t ticks, std::uint32_t path);
  void phase(std::uint32_t thread, std::uint64_t ticks, Phase phase);
  void step(std::uint32_t thread, std::uint64_t ticks, std::uint64_t step);
  void device_use(std::uint32_t thread, std::uint64_t ticks, const DeviceUse& use);
  void failure(std::uint32_t thread, std::uint64_t ticks, const Failure& failure);
  void cache_use(std::uint32_t thread, std::uint64_t ticks, const CacheUse& use, const CacheCounts& counts);
  void pin(std::uint32_t thread, std::uint64_t ticks, const Pin& pin);
  void late_free(std::uint32_t thread, std::uint64_t ticks, const LateFree& free);
  void use_stack(std::uint32_t thread, std::uint32_t stack);
  void use_device(std::uint32_t thread, std::uint8_t device);

  // Of a ring: what counts is header().ring.
  void relabel(std::uint32_t thread, std::uint64_t ticks, const Relabel& relabel);
  void still_live(std::uint32_t thread, std::uint64_t ticks, const Live& block);
  void checkpoint(const CheckpointHead& head, const std::vector<Live>& blocks);
  void sums(std::uint64_t number, const std::vector<Sum>& rows, const std::vector<StepSum>& steps);

  // The file's bytes; `path` must not exist for save().
  std::string bytes() const;
  void save(const std::string& path) const;

 private:
  struct Chunk {
    ChunkHeader head;
    std::vector<Slot> slots;
  };
  template <class R>
  void put(Chunk& chunk, const R& record);
  template <class R>
  void event(std::uint32_t thread, std::uint64_t ticks, R record);
  template <class R>
  void text(R head, std::string_view bytes);
  Chunk& chunk_of(std::uint32_t thread, std::size_t slots);
  std::size_t take(ChunkKind kind, std::uint32_t thread);

  FileHeader header_;
  std::vector<Chunk> chunks_;
  std::size_t shared_ = 0;
  std::map<std::uint32_t, std::size_t> current_;  // each thread's latest chunk
  std::map<std::uint32_t, Context> contexts_;
  std::uint32_t next_id_ = 1;
};

}  // namespace tidemark::trace
