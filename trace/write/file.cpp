// SPDX-License-Identifier: Apache-2.0
#include "trace/write/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "base/reserved.h"
#include "trace/write/ring.h"

#include "base/quietly.h"

namespace tidemark::trace {
namespace {

// Small traces stay small; large ones make few calls. Both are whole chunks.
constexpr std::uint64_t kFirstExtent = 16 * kChunkBytes;
constexpr std::uint64_t kLargestExtent = 256 * kChunkBytes;

// Network, FUSE and copy-on-write file systems accept fallocate and may still have no space when a page is written.
bool promises_space(int file) {
  constexpr long kWithout[] = {
      0x6969 /*nfs*/,      0x65735546 /*fuse*/,   0xff534d42 /*cifs*/,   0x517b /*smb*/,      0xfe534d42 /*smb2*/,
      0x01021997 /*9p*/,   0x9123683e /*btrfs*/,  0x2fc12fc1 /*zfs*/,    0x00c36400 /*ceph*/, 0x0bd00bd0 /*lustre*/,
      0x47504653 /*gpfs*/, 0x19830326 /*beegfs*/, 0xca451a4e /*bcache*/, 0x5346414f /*afs*/};
  struct statfs info;
  if (fstatfs(file, &info) != 0) return false;
  return std::find(std::begin(kWithout), std::end(kWithout), static_cast<long>(info.f_type)) == std::end(kWithout);
}

// Past this size a write would kill the program with SIGXFSZ.
std::uint64_t size_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~std::uint64_t{0};
  return limit.rlim_cur;
}

bool take_space(int file, std::uint64_t begin, std::uint64_t bytes) {
  if (begin + bytes > size_limit()) {
    errno = EFBIG;
    return false;
  }
  int result = 0;
  do result = fallocate(file, 0, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  return result == 0;
}

// Page faults happen here, many at once, rather than one by one in the program's calls.
void populate(void* at, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  auto* const pages = static_cast<volatile char*>(at);
  for (std::size_t i = 0; i < bytes; i += 4096) pages[i] = 0;
}

constexpr const char* kOtherPlace = "choose another place with -o or TIDEMARK_OUT";

Error io_error(const std::string& path, const char* what, const char* hint = "") {
  return {Errc::Io, path + ": " + what + ": " + std::strerror(errno), hint};
}

}  // namespace

Result<void> File::open_at(const std::string& path) {
  if (path.size() >= sizeof path_) return Error{Errc::InvalidArgument, "the trace's path is too long", ""};
  if (!file_.create(path.c_str())) return io_error(path, "cannot create the trace", kOtherPlace);
  std::memcpy(path_, path.c_str(), path.size() + 1);
  return {};
}

// Under a name of its own: traces of many folders meet there.
Result<void> File::open_in(const std::string& folder, const std::string& wanted) {
  std::string const name = folder + "/" + wanted.substr(wanted.rfind('/') + 1) + "-" + std::to_string(getpid());
  Result<void> opened = open_at(name);
  for (int i = 2; i < 100 && !opened.ok() && errno == EEXIST; ++i) opened = open_at(name + "-" + std::to_string(i));
  return opened;
}

// The name that was asked for stays taken, by a link: whoever looks there finds the trace, and another process of the
// same launch takes another name.
Result<void> File::relocate(const Options& options) {
  KeptFile asked_for = file_;
  auto opened = open_in(options.fallback_folder, options.path);
  if (opened.ok() && !take_space(file_.number(), 0, kFirstExtent)) {
    opened = io_error(path_, "no space for a trace", kOtherPlace);
    file_.discard();
  }
  if (opened.ok()) {
    asked_for.become_link(path_);
    relocated_ = true;
  } else {
    asked_for.discard();
  }
  return opened;
}

Result<void> File::create(const Options& options) {
  Quietly const quietly;
  if (auto opened = open_at(options.path); !opened.ok()) return opened;
  std::memcpy(wanted_path_, path_, sizeof path_);
  errno = 0;
  if (!promises_space(file_.number()) || !take_space(file_.number(), 0, kFirstExtent)) {
    if (errno == EFBIG || errno == ENOSPC || errno == EDQUOT) {
      Error const error = io_error(options.path, "no space for a trace", kOtherPlace);
      file_.discard();
      return error;
    }
    if (auto moved = relocate(options); !moved.ok()) return moved;
  }
  void* const at = mmap(nullptr, kFirstExtent, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (at == MAP_FAILED) {
    Error const error = io_error(path_, "cannot map the trace");
    file_.discard();
    return error;
  }
  extent_ = static_cast<std::byte*>(at);
  bytes_ = kFirstExtent;
  clock_ = options.clock;
  header_ = new (at) FileHeader;
  timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  header_->header_bytes = sizeof(FileHeader);
  header_->clock = clock_.kind();
  header_->mode = options.mode;
  header_->pid = static_cast<std::uint32_t>(getpid());
  header_->parent_pid = static_cast<std::uint32_t>(getppid());
  header_->realtime_ns =
      static_cast<std::uint64_t>(real.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(real.tv_nsec);
  header_->ticks_per_second = clock_.ticks_per_second();
  header_->begin = header_->latest = clock_.pair();
  header_->chunks = 1;
  return options.ring_bytes == 0 ? Result<void>{} : start_ring(options);
}

Result<void> File::start_ring(const Options& options) {
  std::uint64_t const chunks = options.ring_bytes / kChunkBytes;
  // Beyond the ring's size there may be what is alive, and a chunk for each thread.
  constexpr std::size_t kBeyond = std::size_t{1} << 20;
  std::byte* const memory = Reserved::map(sizeof(Ring)).release();
  if (memory == nullptr || !places_.start(2 * chunks + kBeyond))
    return Error{Errc::OutOfMemory, "no memory for a ring", ""};
  ring_ = new (memory) Ring(*this, {.chunks = chunks, .blocks = options.live_blocks});
  if (!ring_->start()) return Error{Errc::OutOfMemory, "no memory for a ring", ""};
  most_shared_ = std::max<std::uint64_t>(chunks / 4, 16);
  header_->ring_bytes = options.ring_bytes;
  return {};
}

// As much again as there is, up to a bound: a trace of n chunks costs log n calls at first, n / 256 later.
bool File::grow() {
  int const file = file_.number();
  if (file < 0) return false;
  std::uint64_t bytes = std::min(bytes_, kLargestExtent);
  while (!take_space(file, bytes_, bytes)) {
    if (bytes == kChunkBytes) return false;
    bytes = std::max(kChunkBytes, bytes / 2 / kChunkBytes * kChunkBytes);
  }
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(bytes_));
  if (at == MAP_FAILED) return false;
  extent_ = static_cast<std::byte*>(at);
  extent_begin_ = bytes_;
  bytes_ += bytes;
  return true;
}

Chunk File::claim() {
  Quietly const quietly;
  Chunk chunk;
  bool used_before = false;
  {
    std::scoped_lock const guard(lock_);
    chunk = free_.pop(places_);
    used_before = static_cast<bool>(chunk);
    if (!used_before) {
      std::uint64_t const index = header_->chunks, at = index * kChunkBytes;
      if (full_) return {};
      bool const listed = ring_ == nullptr || index < places_.most();
      if (!listed || (at >= bytes_ && !grow())) {
        full_ = true;
        return {};
      }
      chunk = {reinterpret_cast<ChunkHeader*>(extent_ + (at - extent_begin_)), static_cast<std::uint32_t>(index)};
      if (ring_ != nullptr) places_.set(chunk);
      std::atomic_ref(header_->chunks).store(index + 1, std::memory_order_release);
    }
    header_->latest = clock_.pair();
  }
  if (used_before)
    std::memset(static_cast<void*>(chunk.header), 0, kChunkBytes);
  else
    populate(chunk.header, kChunkBytes);
  return chunk;
}

// The word with the magic number and the kind is the last: a program's end at any instant leaves a chunk that counts
// or one that does not.
void File::publish(Chunk chunk, ChunkHeader head) {
  head.magic = kChunkMagic;
  head.sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
  head.base_ticks = clock_.now();
  std::uint64_t words[sizeof head / 8];
  std::memcpy(words, &head, sizeof head);
  auto* const out = reinterpret_cast<std::uint64_t*>(chunk.header);
  for (std::size_t i = 1; i < sizeof head / 8; ++i) out[i] = words[i];
  std::atomic_ref(out[0]).store(words[0], std::memory_order_release);
}

void File::discard(Chunk chunk) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(chunk.header)).store(0, std::memory_order_release);
  std::scoped_lock const guard(lock_);
  free_.push(places_, chunk.index);
}

void File::stop() {
  std::scoped_lock const guard(lock_);
  if (header_->state == FileState::Open) header_->state = FileState::Stopped;
}

Chunk File::take_events(const Context& context, Chunk before) {
  Chunk const chunk = ring_ != nullptr ? ring_->next(before) : claim();
  if (chunk)
    publish(chunk, {.kind = ChunkKind::Events, .context = context});
  else
    stop();
  return chunk;
}

Chunk File::take_shared() {
  bool const no_share = shared_.load(std::memory_order_relaxed) >= most_shared_;
  Chunk const chunk = no_share ? Chunk{} : claim();
  if (chunk) {
    shared_.fetch_add(1, std::memory_order_relaxed);
    publish(chunk, {.kind = ChunkKind::Shared});
  } else if (ring_ != nullptr) {
    add(header_->ring.unnamed, 1);
  } else {
    stop();
  }
  return chunk;
}

void File::close(FileState state) {
  Quietly const quietly;
  std::scoped_lock const guard(lock_);
  header_->latest = clock_.pair();
  if (header_->state == FileState::Open) header_->state = state;
  // Space that was taken and not used goes back. Threads that still run keep their chunks, and may take more.
  int const file = file_.number();
  if (file >= 0 && ftruncate(file, static_cast<off_t>(header_->chunks * kChunkBytes)) == 0)
    bytes_ = header_->chunks * kChunkBytes;
}

}  // namespace tidemark::trace
