// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/ledger.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/invariant.h"

namespace tidemark::softgpu {
namespace {

class PrivateLedger final : public Ledger {
 public:
  explicit PrivateLedger(std::uint64_t capacity) : capacity_(capacity) {}

  bool charge(std::uint64_t bytes) override {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > capacity_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(std::uint64_t bytes) override {
    [[maybe_unused]] std::uint64_t const before = used_.fetch_sub(bytes, std::memory_order_relaxed);
    TIDEMARK_INVARIANT(before >= bytes);
  }
  Usage usage() override {
    std::uint64_t const used = used_.load(std::memory_order_relaxed);
    return {capacity_, used, used};
  }
  std::vector<Process> processes() override {
    std::uint64_t const used = used_.load(std::memory_order_relaxed);
    if (used == 0) return {};
    return {{static_cast<std::int32_t>(::getpid()), used}};
  }

 private:
  std::uint64_t const capacity_;
  std::atomic<std::uint64_t> used_{0};
};

constexpr std::uint64_t kMagic = 0x31726764654c7553;  // "SuLedgr1"
constexpr std::size_t kSlots = 256;

struct Slot {
  std::int32_t pid;
  std::uint64_t start_time;  // tells a recycled pid from the process that took the slot
  std::uint64_t used_bytes;
};

struct Page {
  std::uint64_t magic;
  std::uint64_t capacity_bytes;
  std::uint64_t used_bytes;
  pthread_mutex_t mutex;
  std::array<Slot, kSlots> slots;
};

// Field 22 of /proc/PID/stat; the command name before it may hold spaces and parentheses. 0 when there is no such
// process, or only what is left of one until its parent asks (state Z or X): it holds no memory any more.
std::uint64_t start_time_of(std::int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  auto const close = text.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream fields(text.substr(close + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return 0;
  for (int i = 4; i <= 22; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

void init_page(Page& page, std::uint64_t capacity) {
  page.capacity_bytes = capacity;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&page.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  page.magic = kMagic;
}

// Attaching and leaving hold the file's lock, so that a page is never set up twice or unlinked under a newcomer.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { ::flock(fd_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

class SharedLedger final : public Ledger {
 public:
  static Result<std::unique_ptr<Ledger>> attach(std::uint64_t capacity, const std::string& path);
  ~SharedLedger() override;
  bool charge(std::uint64_t bytes) override;
  void release(std::uint64_t bytes) override;
  Usage usage() override;
  std::vector<Process> processes() override;
  void leave() override;

 private:
  // The page's lock. A holder that died left the slots true and the sum perhaps not: sum again.
  class Guard {
   public:
    explicit Guard(SharedLedger& ledger) : page_(*ledger.page_) {
      if (pthread_mutex_lock(&page_.mutex) == EOWNERDEAD) {
        recount(page_);
        pthread_mutex_consistent(&page_.mutex);
      }
    }
    ~Guard() { pthread_mutex_unlock(&page_.mutex); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Page& page_;
  };

  static void recount(Page& page) {
    page.used_bytes = 0;
    for (Slot const& slot : page.slots) page.used_bytes += slot.used_bytes;
  }
  static std::size_t sweep(Page& page);
  bool take_slot();

  std::string path_;
  int fd_ = -1;
  Page* page_ = nullptr;
  Slot* slot_ = nullptr;
  pid_t owner_ = 0;
};

// Empties the slots of processes that are gone; says how many live ones there are.
std::size_t SharedLedger::sweep(Page& page) {
  std::size_t live = 0;
  for (Slot& slot : page.slots) {
    if (slot.pid == 0) continue;
    if (start_time_of(slot.pid) == slot.start_time) {
      ++live;
    } else {
      slot = {};
    }
  }
  recount(page);
  return live;
}

bool SharedLedger::take_slot() {
  for (Slot& slot : page_->slots) {
    if (slot.pid != 0) continue;
    slot = {static_cast<std::int32_t>(owner_), start_time_of(owner_), 0};
    slot_ = &slot;
    return true;
  }
  return false;
}

Result<std::unique_ptr<Ledger>> SharedLedger::attach(std::uint64_t capacity, const std::string& path) {
  auto ledger = std::make_unique<SharedLedger>();
  auto const failed = [&](const std::string& why) {
    return Error{Errc::Io, "SOFTGPU_SHARE: " + path + ": " + why, "remove that file, or choose another name"};
  };
  ledger->path_ = path;
  ledger->owner_ = ::getpid();
  for (;;) {
    ledger->fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (ledger->fd_ < 0) return failed(std::strerror(errno));
    FileLock const lock(ledger->fd_);
    struct stat info {};
    if (::fstat(ledger->fd_, &info) != 0) return failed(std::strerror(errno));
    if (info.st_nlink == 0) {  // the last process left between our open and our lock
      ::close(ledger->fd_);
      continue;
    }
    if (info.st_size == 0 && ::ftruncate(ledger->fd_, sizeof(Page)) != 0) return failed(std::strerror(errno));
    if (info.st_size != 0 && info.st_size != sizeof(Page)) return failed("not a softgpu ledger");
    void* const p = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, ledger->fd_, 0);
    if (p == MAP_FAILED) return failed(std::strerror(errno));
    ledger->page_ = static_cast<Page*>(p);
    // No magic yet: new, or its maker was killed on the way.
    if (ledger->page_->magic == 0) init_page(*ledger->page_, capacity);
    if (ledger->page_->magic != kMagic) return failed("not a softgpu ledger");
    Guard const guard(*ledger);
    if (ledger->page_->capacity_bytes != capacity) {
      if (sweep(*ledger->page_) != 0)
        return failed("another process uses it with " + format_bytes({ledger->page_->capacity_bytes}));
      ledger->page_->capacity_bytes = capacity;  // nobody is left who counts with the old size
    }
    if (!ledger->take_slot() && (sweep(*ledger->page_), !ledger->take_slot())) return failed("too many processes");
    return std::unique_ptr<Ledger>(std::move(ledger));
  }
}

void SharedLedger::leave() {
  if (page_ == nullptr || slot_ == nullptr || owner_ != ::getpid()) return;
  FileLock const lock(fd_);
  Guard const guard(*this);
  *slot_ = {};
  slot_ = nullptr;
  if (sweep(*page_) == 0) ::unlink(path_.c_str());
}

SharedLedger::~SharedLedger() {
  leave();
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
  if (fd_ >= 0) ::close(fd_);
}

bool SharedLedger::charge(std::uint64_t bytes) {
  Guard const guard(*this);
  if (slot_ == nullptr) return false;
  if (bytes > page_->capacity_bytes - page_->used_bytes) sweep(*page_);
  if (bytes > page_->capacity_bytes - page_->used_bytes) return false;
  slot_->used_bytes += bytes;
  page_->used_bytes += bytes;
  return true;
}

void SharedLedger::release(std::uint64_t bytes) {
  Guard const guard(*this);
  if (slot_ == nullptr) return;
  TIDEMARK_INVARIANT(slot_->used_bytes >= bytes);
  slot_->used_bytes -= bytes;
  page_->used_bytes -= bytes;
}

Ledger::Usage SharedLedger::usage() {
  Guard const guard(*this);
  sweep(*page_);
  return {page_->capacity_bytes, page_->used_bytes, slot_ != nullptr ? slot_->used_bytes : 0};
}

std::vector<Ledger::Process> SharedLedger::processes() {
  Guard const guard(*this);
  sweep(*page_);
  std::vector<Process> list;
  for (Slot const& slot : page_->slots)
    if (slot.pid != 0 && slot.used_bytes != 0) list.push_back({slot.pid, slot.used_bytes});
  return list;
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(Bytes capacity, const std::string& share, int device) {
  if (share.empty()) return std::unique_ptr<Ledger>(std::make_unique<PrivateLedger>(capacity.n));
  for (char const c : share)
    if (c == '/' || c == '\0')
      return Error{Errc::InvalidArgument, "SOFTGPU_SHARE: no '/' in the name", "use a plain word"};
  return SharedLedger::attach(
      capacity.n, "/dev/shm/softgpu-" + std::to_string(::getuid()) + "-" + share + "-" + std::to_string(device));
}

}  // namespace tidemark::softgpu
