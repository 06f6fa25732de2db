// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "analysis/report/words.h"
#include "base/env.h"
#include "base/log.h"

namespace tidemark::cli {
namespace {

void (*inherited_sigpipe)(int) = SIG_DFL;

// All of it, or errno.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t const n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// LC_ALL before LC_CTYPE before LANG, as the C library has it.
bool utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto text = env_text(name);
    if (!text) continue;
    std::transform(text->begin(), text->end(), text->begin(), [](unsigned char c) { return std::tolower(c); });
    return text->find("utf-8") != std::string::npos || text->find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

void survive_closed_pipes() {
  inherited_sigpipe = std::signal(SIGPIPE, SIG_IGN);
}
void (*closed_pipes_before())(int) {
  return inherited_sigpipe;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

Result<void> print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return {};
  return Error{Errc::Io, std::string("cannot write to the standard output: ") + std::strerror(errno),
               "write to a file with -o OUT"};
}

Result<void> save(const Target& target, std::string_view text) {
  const char* const path = target.path.c_str();
  for (std::string const& source : target.sources)
    if (same_file(target.path, source))
      return Error{Errc::InvalidArgument, target.path + " is " + target.source + " itself",
                   "choose another name with -o OUT"};
  struct stat there {};
  bool const device = stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
  int const how = device ? 0 : target.force ? O_CREAT | O_TRUNC : O_CREAT | O_EXCL;
  int const file = ::open(path, O_WRONLY | O_CLOEXEC | how, 0666);
  if (file < 0 && errno == EEXIST)
    return Error{Errc::Io, target.path + ": there is a file of this name", "--force writes over it"};
  if (file < 0) return Error{Errc::Io, target.path + ": " + std::strerror(errno), "choose another place with -o OUT"};
  bool written = write_all(file, text);
  int why = errno;
  if (::close(file) != 0 && written) {
    written = false;
    why = errno;
  }
  if (written || (device && why == EPIPE)) return {};
  // Half a report is worse than none.
  if (!device) unlink(path);
  return Error{Errc::Io, target.path + ": " + std::strerror(why), "choose another place with -o OUT"};
}

Screen screen() {
  // Lines of a terminal longer than that are hard to read; whoever sets COLUMNS has reasons.
  constexpr std::size_t kNarrowest = 60, kWidest = 100, kMost = 1000;
  Screen s;
  s.unicode = utf8_locale();
  if (isatty(STDOUT_FILENO) == 0) {
    auto const wanted = env_count("COLUMNS", 0);
    if (wanted.ok() && *wanted != 0) s.width = std::clamp<std::size_t>(*wanted, kNarrowest, kMost);
    s.columns = kMost;
    return s;
  }
  s.colour = !env_text("NO_COLOR") && env_text("TERM").value_or("dumb") != "dumb";
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    s.width = std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
    s.columns = std::max<std::size_t>(size.ws_col, kNarrowest);
  }
  return s;
}

void talk(std::string_view text) {
  std::string line(text);
  if (!line.ends_with('\n')) line += '\n';
  write_all(STDERR_FILENO, line);
}

void complain(const Error& error) {
  using analysis::report::clean;  // names of a trace may be in it
  say("error", clean(error.what));
  if (!error.hint.empty()) say("hint", clean(error.hint));
}

}  // namespace tidemark::cli
