// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/env.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/top/collect.h"

namespace tidemark::cli {
namespace {

constexpr const char* kExamples =
    "  tidemark top                   devices and recorded processes, every second; q quits\n"
    "  tidemark top --once            once, for scripts\n"
    "  tidemark top --interval 200ms";

volatile std::sig_atomic_t g_ended = 0;

// Keys as they are pressed, on a screen of its own; both are put back at the end.
class Terminal {
 public:
  Terminal() {
    keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    static_cast<void>(print("\x1b[?1049h\x1b[?25l"));
  }
  ~Terminal() {
    static_cast<void>(print("\x1b[?25h\x1b[?1049l"));
    if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Waits; true when somebody wants to leave.
  bool wants_to_leave(std::uint64_t wait_ns) const {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, keys_ ? 1 : 0, static_cast<int>(wait_ns / 1'000'000)) <= 0) return false;
    char key = 0;
    return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 3;
  }

 private:
  termios before_{};
  bool keys_ = false;
};

std::string clock_text() {
  std::time_t const now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

// Lines are cleared as they are written: nothing flickers, and nothing of a longer picture stays.
std::string as_picture(const std::string& text) {
  std::string out = "\x1b[H";
  for (char const c : text) out += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return out + "\x1b[J";
}

void watch(std::uint64_t interval_ns) {
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) { g_ended = 1; });
  Terminal const terminal;
  do {
    Screen const s = screen();
    std::string const text = "tidemark top  " + clock_text() + "  (q quits)\n\n" +
                             render(collect(), {.width = s.columns, .colour = s.colour, .unicode = s.unicode});
    if (!print(as_picture(text)).ok()) return;
  } while (g_ended == 0 && !terminal.wants_to_leave(interval_ns));
}

}  // namespace

Result<int> cmd_top(Words words) {
  bool once = false;
  std::string interval = "1s";
  Arguments arguments("top", "Shows what devices and recorded processes hold, while they run.", kExamples);
  arguments.flag(once, "--once", "print once and end (as without a terminal)");
  arguments.option(interval, {"--interval", "TIME", "between two looks (default: 1s)"});
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  auto const interval_ns = parse_duration_ns(interval);
  if (!interval_ns.ok() || *interval_ns < 50'000'000)
    return Error{Errc::InvalidArgument, "--interval: not a time: '" + interval + "'", "write 200ms, 1s; 50ms at least"};
  if (!once && isatty(STDOUT_FILENO) == 1) {
    watch(*interval_ns);
    return kOk;
  }
  Screen const s = screen();
  auto const printed = print(render(collect(), {.width = s.columns, .colour = s.colour, .unicode = s.unicode}));
  if (!printed.ok()) return printed.error();
  return kOk;
}

}  // namespace tidemark::cli
