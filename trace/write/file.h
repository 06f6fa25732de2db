// SPDX-License-Identifier: Apache-2.0
// The file that a trace is written to: it grows by extents whose space is taken before they are mapped, so that a full
// disk is an answer here and never a SIGBUS in the program, and hands them out as chunks.
//
// Any thread may take chunks. Nothing here throws, allocates from the heap or is a cancellation point for its caller.
// Mappings stay until the process ends: threads write into their chunks without asking.
#pragma once
#include <atomic>
#include <string>

#include "base/result.h"
#include "base/spin_lock.h"
#include "trace/format/layout.h"
#include "trace/write/clock.h"
#include "trace/write/kept_file.h"

namespace tidemark::trace {

// A chunk to write to: `header` is filled in by take(), the slots are zero.
struct Chunk {
  ChunkHeader* header = nullptr;
  Slot* begin() const { return reinterpret_cast<Slot*>(header + 1); }
  Slot* end() const { return begin() + kChunkSlots; }
  explicit operator bool() const { return header != nullptr; }
};

class File {
 public:
  struct Options {
    std::string path;
    Mode mode = Mode::Observe;
    Clock clock = Clock::pick();
    // Where the file's space cannot be promised (network and copy-on-write file systems), it is written here instead.
    std::string fallback_folder = "/dev/shm";
  };

  constexpr File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() = default;  // deliberately nothing: see above

  // Creates the file (mode 0600; it must not exist) with its header. Once, before any other call.
  Result<void> create(const Options& options);
  // Where it really is: the path asked for, or the fallback.
  const char* path() const { return path_; }
  const char* wanted_path() const { return wanted_path_; }
  bool relocated() const { return relocated_; }

  const Clock& clock() const { return clock_; }
  FileHeader& header() { return *header_; }
  // Nothing (and recording is over) when there is no more space.
  Chunk take(ChunkKind kind, const Context& context);
  void count_loss(Loss why, std::uint64_t events = 1) { add(header_->lost[static_cast<std::size_t>(why)], events); }
  void close(FileState state);

 private:
  static void add(std::uint64_t& field, std::uint64_t n) {
    std::atomic_ref(field).fetch_add(n, std::memory_order_relaxed);
  }
  Result<void> open_at(const std::string& path);
  bool grow();

  FileHeader* header_ = nullptr;
  KeptFile file_;
  Clock clock_;
  SpinLock lock_;
  std::uint64_t bytes_ = 0;         // of the file
  std::byte* extent_ = nullptr;     // the newest mapping
  std::uint64_t extent_begin_ = 0;  // its place in the file
  bool full_ = false;
  bool relocated_ = false;
  char path_[4096] = {};
  char wanted_path_[4096] = {};
};

}  // namespace tidemark::trace
