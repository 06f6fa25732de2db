// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "allocator/core/plan/buffer_csv.h"
#include "allocator/core/plan/planner.h"
#include "allocator/core/plan/verify.h"
#include "base/bytes.h"
#include "base/env.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace tidemark::cli {
namespace {

constexpr const char* kExamples =
    "  tidemark plan --buffers net.csv --capacity 1MiB -o layout.csv   offsets within 1 MiB\n"
    "  tidemark plan --buffers net.csv -o layout.csv --budget 30s      as low as 30 seconds allow\n"
    "  tidemark plan --buffers net.csv --align 512                     the layout on the standard output\n"
    "\n"
    "net.csv has a line per buffer, alive from lower until just before upper:\n"
    "  id,lower,upper,size\n"
    "  b1,0,3,4096\n"
    "  b2,3,9,2048\n"
    "Exit code: 0 a layout was written, 1 none was found in time, 2 wrong usage, 3 there is none within the capacity.\n"
    "Ctrl-C ends a search for the lowest one with the best so far.";

struct Options {
  std::string buffers, capacity, output, budget = "10s";
  std::optional<std::uint64_t> align;
  bool force = false;
};

void declare(Arguments& a, Options& o) {
  a.option(o.buffers, {"--buffers", "F.csv", "columns id, lower, upper and size, in any order"});
  a.option(o.capacity, {"--capacity", "SIZE", "any layout within this size will do (default: as low as possible)"});
  a.option(o.output, {"-o,--output", "OUT.csv", "the buffers with their offsets (default: the standard output)"});
  a.option(o.budget, {"--budget", "TIME", "how long to look for a better one (10s)"});
  a.option(o.align, {"--align", "N", "offsets are multiples of N, a power of two (1)"});
  a.flag(o.force, "--force", "write over OUT.csv if it is there");
}

Error usage(const std::string& what, const std::string& hint) {
  return {Errc::InvalidArgument, what, hint};
}

Result<std::string> text_of(const std::string& path) {
  Error const cannot{Errc::Io, path + ": ", "name a file with the columns id, lower, upper and size"};
  auto const because = [&](int why) { return Error{cannot.code, cannot.what + std::strerror(why), cannot.hint}; };
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return because(errno);
  std::string text;
  char part[1 << 16];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  int const why = errno;
  ::close(file);
  if (got < 0) return because(why);
  return text;
}

Result<plan::BufferTable> table_of(const Options& o) {
  TIDEMARK_TRY(std::string const text, text_of(o.buffers));
  auto table = plan::read_buffers(text);
  if (!table.ok()) return Error{table.error().code, o.buffers + ": " + table.error().what, table.error().hint};
  for (plan::Buffer& b : table->buffers) b.alignment = o.align.value_or(1);
  return table;
}

std::atomic<bool> g_cancel{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// One line that is written over, on a terminal only.
void show(const std::string& line) {
  std::string const text = "\r\x1b[K" + line;
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody looks
}

void show_progress(const plan::Progress& p) {
  show(fmt::format("{:.0f} s: {}, at least {}", p.seconds, format_bytes({p.height}), format_bytes({p.bound})));
}

Result<plan::Options> read_options(const Options& o) {
  plan::Options options;
  if (!o.capacity.empty()) {
    auto const capacity = parse_bytes(o.capacity);
    if (!capacity.ok()) return usage("--capacity: " + capacity.error().what, capacity.error().hint);
    options.capacity = capacity->n;
  }
  auto const budget = parse_duration_ns(o.budget);
  if (!budget.ok()) return usage("--budget " + o.budget + ": not a time", "write it as 500ms, 10s or 2m");
  options.budget_seconds = static_cast<double>(*budget) * 1e-9;
  options.cancel = &g_cancel;
  return options;
}

// What is wrong with the buffers is no matter of usage.
Error about(const std::string& file, const Error& error) {
  return {error.code == Errc::InvalidArgument ? Errc::Corrupt : error.code, file + ": " + error.what, error.hint};
}

std::string summary(const plan::Plan& found, const Options& o) {
  double const ratio =
      found.bound == 0 ? 1 : static_cast<double>(found.layout.height) / static_cast<double>(found.bound);
  return fmt::format("{}: {} bytes ({}), {:.4f} of the {} alive at once{}; {:.2f} s\n", o.output, found.layout.height,
                     format_bytes({found.layout.height}), ratio, found.bound, found.least ? "; no layout is lower" : "",
                     found.seconds);
}

}  // namespace

Result<int> cmd_plan(Words words) {
  Options o;
  Arguments arguments("plan", "Gives buffers with known lifetimes offsets, as low as possible or within a capacity.",
                      kExamples);
  declare(arguments, o);
  TIDEMARK_TRY(bool const go, arguments.parse(words));
  if (!go) return kOk;
  if (o.buffers.empty())
    return usage("--buffers is missing", "tidemark plan --buffers F.csv --capacity SIZE -o OUT.csv");
  if (o.align && (!std::has_single_bit(*o.align) || *o.align > (std::uint64_t{1} << 40)))
    return usage("--align " + std::to_string(*o.align) + ": not a power of two", "512, for example");
  TIDEMARK_TRY(plan::Options options, read_options(o));
  TIDEMARK_TRY(auto const table, table_of(o));

  bool const terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) options.progress = show_progress;
  std::signal(SIGINT, [](int) { g_cancel.store(true); });
  auto const found = plan::plan_layout(table.buffers, options);
  std::signal(SIGINT, SIG_DFL);
  if (terminal) show("");
  if (!found.ok() && found.error().code == Errc::LimitExceeded) {
    complain(about(o.buffers, found.error()));
    return kLimit;
  }
  if (!found.ok()) return about(o.buffers, found.error());
  // Once more, over what is written rather than over what was planned.
  std::string const text = plan::write_buffers(table, found->layout);
  if (auto sound = plan::verify(table.buffers, found->layout, options.capacity.value_or(found->layout.height));
      !sound.ok())
    return sound.error();

  auto const done =
      o.output.empty()
          ? print(text)
          : save({.path = o.output, .force = o.force, .sources = {o.buffers}, .source = "the input"}, text);
  if (!done.ok()) return done.error();
  if (!o.output.empty())
    if (auto said = print(summary(*found, o)); !said.ok()) return said.error();
  return kOk;
}

}  // namespace tidemark::cli
