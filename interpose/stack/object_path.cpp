// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/object_path.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

namespace tidemark::interpose {
namespace {

// Not on the stack: a signal handler's may be small.
constinit char text[PATH_MAX + 256] = {};

std::string_view program_path() {
  long const length = syscall(SYS_readlink, "/proc/self/exe", text, sizeof text);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

// Lines of a file of the system's, one after the other. By bare system calls: the library's functions are points at
// which a thread may be cancelled.
class Lines {
 public:
  explicit Lines(const char* path)
      : file_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0))) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (file_ >= 0) syscall(SYS_close, file_);
  }

  // False at the end. A line that is longer than the buffer is cut.
  bool next(std::string_view& line) {
    drop_line();
    while (true) {
      auto const* const end = static_cast<const char*>(memchr(text, '\n', filled_));
      if (end != nullptr || filled_ == sizeof text) {
        used_ = end != nullptr ? static_cast<std::size_t>(end - text) + 1 : filled_;
        line = {text, end != nullptr ? used_ - 1 : used_};
        return true;
      }
      long const n = file_ < 0 ? 0 : syscall(SYS_read, file_, text + filled_, sizeof text - filled_);
      if (n <= 0) return false;
      filled_ += static_cast<std::size_t>(n);
    }
  }

 private:
  void drop_line() {
    memmove(text, text + used_, filled_ - used_);
    filled_ -= used_;
    used_ = 0;
  }

  int file_;
  std::size_t filled_ = 0, used_ = 0;
};

// "7f…-7f… r-xp 00000000 08:01 1234    /folder/libx.so"
std::string_view mapped_file(std::uintptr_t begin) {
  Lines lines("/proc/self/maps");
  for (std::string_view line; lines.next(line);) {
    std::uintptr_t start = 0;
    auto const read = std::from_chars(line.data(), line.data() + line.size(), start, 16);
    if (read.ec != std::errc{} || start != begin) continue;
    std::size_t const slash = line.find('/');
    return slash == std::string_view::npos ? std::string_view() : line.substr(slash);
  }
  return {};
}

}  // namespace

std::string_view object_path(const link_map& object, std::uintptr_t begin) {
  std::string_view const name = object.l_name == nullptr ? "" : object.l_name;
  if (name.empty()) return program_path();
  if (name[0] == '/') return name;
  std::string_view const found = mapped_file(begin);
  return found.empty() ? name : found;
}

}  // namespace tidemark::interpose
