// SPDX-License-Identifier: Apache-2.0
// The file that a trace is written to: it grows by extents whose space is taken before they are mapped, so that a full
// disk is an answer here and never a SIGBUS in the program, and hands them out as chunks.
//
// Any thread may take chunks. Nothing here throws, allocates from the heap or is a cancellation point for its caller.
// Mappings stay until the process ends: threads write into their chunks without asking.
//
// With a ring (ring.h) chunks come back, and are handed out again.
#pragma once
#include <atomic>
#include <string>

#include "base/result.h"
#include "base/spin_lock.h"
#include "trace/format/layout.h"
#include "trace/write/chunks.h"
#include "trace/write/clock.h"
#include "trace/write/kept_file.h"

namespace tidemark::trace {

class LiveBlocks;
class Ring;

class File {
 public:
  struct Options {
    std::string path;
    Mode mode = Mode::Observe;
    Clock clock = Clock::pick();
    // Where the file's space cannot be promised (network and copy-on-write file systems), it is written here instead,
    // and a link takes its place.
    std::string fallback_folder = "/dev/shm";
    // Keeps the file at this size; 0: everything is kept. Then somebody must be able to say what is alive.
    std::uint64_t ring_bytes = 0;
    LiveBlocks* live_blocks = nullptr;
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
  // Null: everything is kept.
  Ring* ring() { return ring_; }

  // A chunk for events, in place of the one before, which the caller leaves for good. Nothing (and recording is over)
  // when there is no more space.
  Chunk take_events(const Context& context, Chunk before);
  // A chunk for names. In a ring they have their share; nothing when that is used up.
  Chunk take_shared();
  // Whether names begin to be short of space: then what is long should not be said any more.
  bool few_names_left() const { return shared_.load(std::memory_order_relaxed) > most_shared_ / 2; }

  void count_loss(Loss why, std::uint64_t events = 1) { add(header_->lost[static_cast<std::size_t>(why)], events); }
  void close(FileState state);

  // The parts of take, for a ring. A chunk that nobody uses, all zero; nothing when there is no more space.
  Chunk claim();
  // From here on a reader sees it.
  void publish(Chunk chunk, ChunkHeader head);
  // From here on no reader sees it, and it will be claimed again.
  void discard(Chunk chunk);
  void stop();
  Places& places() { return places_; }
  std::size_t shared_chunks() const { return shared_.load(std::memory_order_relaxed); }

 private:
  static void add(std::uint64_t& field, std::uint64_t n) {
    std::atomic_ref(field).fetch_add(n, std::memory_order_relaxed);
  }
  Result<void> open_at(const std::string& path);
  Result<void> open_in(const std::string& folder, const std::string& wanted);
  Result<void> relocate(const Options& options);
  Result<void> start_ring(const Options& options);
  bool grow();

  FileHeader* header_ = nullptr;
  KeptFile file_;
  Clock clock_;
  SpinLock lock_;
  std::uint64_t bytes_ = 0;         // of the file
  std::byte* extent_ = nullptr;     // the newest mapping
  std::uint64_t extent_begin_ = 0;  // its place in the file
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::size_t> shared_{0};
  std::size_t most_shared_ = ~std::size_t{0};
  Ring* ring_ = nullptr;
  Places places_;   // of a ring, as is
  ChunkList free_;  // what was discarded
  bool full_ = false;
  bool relocated_ = false;
  char path_[4096] = {};
  char wanted_path_[4096] = {};
};

}  // namespace tidemark::trace
