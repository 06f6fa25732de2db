// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <set>
#include <string>

namespace tidemark {
namespace {

// Writing into a pipe whose reader is gone raises SIGPIPE, which would end the program for the sake of our line. The
// signal is held back in this thread for the write, and taken away if the write caused it. errno is kept too: a line
// for a person must not change what the program sees.
class HoldBrokenPipe {
 public:
  HoldBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HoldBrokenPipe() {
    timespec const at_once{};
    if (broken_ && !was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = errno_before_;
  }
  HoldBrokenPipe(const HoldBrokenPipe&) = delete;
  HoldBrokenPipe& operator=(const HoldBrokenPipe&) = delete;
  void broken() { broken_ = true; }

 private:
  int errno_before_ = errno;
  sigset_t pipe_, before_;
  bool was_pending_ = false;
  bool broken_ = false;
};

}  // namespace

void say(std::string_view who, std::string_view text) {
  std::string line;
  line.reserve(who.size() + text.size() + 3);
  line.append(who).append(": ").append(text).push_back('\n');
  HoldBrokenPipe hold;
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t const n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // a closed stderr loses the line, never the program
      if (errno == EPIPE) hold.broken();
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
