// SPDX-License-Identifier: Apache-2.0
// A trace file as untrusted input: any bytes give an error or a partial result, never a crash or an endless loop.
//
// The file is mapped; a Trace and what it hands out are for one thread at a time, several Traces may be read at once.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/format/layout.h"
#include "trace/read/event.h"
#include "trace/read/names.h"
#include "trace/read/past.h"

namespace tidemark::trace {

class Trace {
 public:
  static Result<Trace> open(const std::string& path);
  Trace(Trace&&) noexcept = default;
  Trace& operator=(Trace&&) noexcept = default;

  const std::string& path() const { return path_; }
  const FileHeader& header() const { return header_; }
  const Names& names() const { return names_; }
  // The program came to its end and nothing is missing.
  bool complete() const { return header_.state == FileState::Closed && lost_events() == 0 && missing_bytes() == 0; }
  // Of a file that was cut off: what it should have beyond its end.
  std::uint64_t missing_bytes() const;
  std::uint64_t lost_events() const;
  // Since the trace began.
  std::uint64_t nanoseconds(std::uint64_t ticks) const;

  // Of a ring: what came before the events that are still there.
  const Past& past() const { return past_; }

  // Chunks of events in the order in which they were taken.
  std::size_t event_chunks() const { return chunks_.size(); }
  const ChunkHeader& chunk_head(std::size_t i) const { return chunk(chunks_[i]); }
  std::span<const Slot> chunk_slots(std::size_t i) const { return slots(chunks_[i]); }
  ChunkReader read_chunk(std::size_t i) const;
  // Appends all of one chunk's events.
  void decode_chunk(std::size_t i, std::vector<Event>& out) const;

 private:
  struct Mapping {
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
  };
  Trace() = default;
  const ChunkHeader& chunk(std::uint64_t index) const;
  std::span<const Slot> slots(std::uint64_t index) const;
  void find_chunks(std::uint64_t count);
  void read_past(const std::vector<std::uint64_t>& checkpoint, const std::vector<std::uint64_t>& sums);

  std::string path_;
  std::unique_ptr<Mapping> mapping_;
  FileHeader header_;
  double ns_per_tick_ = 1;
  std::vector<std::uint64_t> chunks_;  // places of the chunks of events
  Names names_;
  Past past_;
};

}  // namespace tidemark::trace
