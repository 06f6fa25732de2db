// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string>

namespace tidemark {
namespace {

// Writing into a pipe whose reader is gone raises SIGPIPE, writing beyond the limit of a file's size SIGXFSZ: either
// would end the program for the sake of our line. Both are held back in this thread for the write, and taken away if
// the write caused them. errno is kept too, and a wish to cancel the thread waits: a line for a person must not change
// what the program sees.
class Unnoticed {
 public:
  Unnoticed() {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before_);
    sigset_t both;
    sigemptyset(&both);
    for (int const signal : {SIGPIPE, SIGXFSZ}) sigaddset(&both, signal);
    sigpending(&pending_before_);
    pthread_sigmask(SIG_BLOCK, &both, &mask_before_);
  }
  ~Unnoticed() {
    timespec const at_once{};
    sigset_t raised;
    sigemptyset(&raised);
    if (raised_ != 0) sigaddset(&raised, raised_);
    if (raised_ != 0 && sigismember(&pending_before_, raised_) == 0) sigtimedwait(&raised, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    pthread_setcancelstate(cancel_before_, nullptr);
    errno = errno_before_;
  }
  Unnoticed(const Unnoticed&) = delete;
  Unnoticed& operator=(const Unnoticed&) = delete;
  void failed(int error) { raised_ = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0; }

 private:
  int errno_before_ = errno;
  int cancel_before_ = 0;
  sigset_t pending_before_, mask_before_;
  int raised_ = 0;
};

// Which file stderr was when keep_to_stderr() was called.
struct Kept {
  bool open = false;
  dev_t device = 0;
  ino_t inode = 0;
};
constinit Kept kept;
constinit std::atomic<bool> is_kept{false};

bool is_stderr() {
  if (!is_kept.load(std::memory_order_acquire)) return true;
  struct stat now {};
  return kept.open && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == kept.device && now.st_ino == kept.inode;
}

}  // namespace

void keep_to_stderr() {
  int const before = errno;
  struct stat now {};
  kept.open = fstat(STDERR_FILENO, &now) == 0;
  kept.device = now.st_dev;
  kept.inode = now.st_ino;
  is_kept.store(true, std::memory_order_release);
  errno = before;
}

void say(std::string_view who, std::string_view text) {
  std::string line;
  line.reserve(who.size() + text.size() + 3);
  line.append(who).append(": ").append(text).push_back('\n');
  Unnoticed unnoticed;
  if (!is_stderr()) return;
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t const n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // a closed stderr loses the line, never the program
      unnoticed.failed(errno);
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool say_once(std::string_view key, std::string_view who, std::string_view text) {
  // Leaked: libraries call this while the process is being torn down.
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string, std::less<>>;
  {
    std::lock_guard const lock(mutex);
    if (!said.emplace(key).second) return false;
  }
  say(who, text);
  return true;
}

}  // namespace tidemark
