// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "cli/output.h"
#include "cli/run/child.h"

namespace tidemark::cli {
namespace {

constexpr long kTickNs = 100'000'000;
constexpr int kPatienceTicks = 30;  // after which those that do not end are killed

std::vector<std::string> with(const std::vector<std::string>& more) {
  std::vector<std::string> all;
  auto const is_set_anew = [&](std::string_view variable) {
    std::string_view const name = variable.substr(0, variable.find('=') + 1);
    for (std::string const& m : more)
      if (m.starts_with(name)) return true;
    return false;
  };
  for (char** at = environ; *at != nullptr; ++at)
    if (!is_set_anew(*at)) all.emplace_back(*at);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string content_of(int file) {
  off_t const size = lseek(file, 0, SEEK_END);
  std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    ssize_t const n = pread(file, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

struct Start {
  char** words;
  char** environment;
  const sigset_t* mask;
  pid_t parent;
  int out, err;
};

// In the child, a group of its own: what it starts ends with it.
[[noreturn]] void become(const Start& s) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != s.parent) _exit(1);
  signal(SIGPIPE, closed_pipes_before());
  sigprocmask(SIG_SETMASK, s.mask, nullptr);
  if (int const nothing = open("/dev/null", O_RDONLY); nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(s.out, STDOUT_FILENO);
  dup2(s.err, STDERR_FILENO);
  execve(s.words[0], s.words, s.environment);
  _exit(127);
}

}  // namespace

Pool::Pool(std::function<void()> tick) : tick_(std::move(tick)) {
  sigemptyset(&signals_);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&signals_, signal);
  sigprocmask(SIG_BLOCK, &signals_, &before_);
}

Pool::~Pool() {
  end_all();
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<void> Pool::start(const Job& job) {
  Child child{.id = job.id, .out = memfd_create("out", MFD_CLOEXEC), .err = memfd_create("err", MFD_CLOEXEC)};
  auto const words = pointers(job.words);
  std::vector<std::string> const variables = with(job.environment);
  auto const environment = pointers(variables);
  Start const start{.words = const_cast<char**>(words.data()),
                    .environment = const_cast<char**>(environment.data()),
                    .mask = &before_,
                    .parent = getpid(),
                    .out = child.out,
                    .err = child.err};
  child.pid = child.out < 0 || child.err < 0 ? -1 : fork();
  if (child.pid == 0) become(start);
  if (child.pid < 0) {
    int const why = errno;
    for (int const file : {child.out, child.err})
      if (file >= 0) close(file);
    return Error{Errc::Io, std::string("cannot start a process: ") + std::strerror(why), ""};
  }
  setpgid(child.pid, child.pid);  // here too: whoever comes first
  children_.push_back(child);
  return {};
}

JobEnd Pool::collect(Child child, int status) {
  JobEnd end{
      .id = child.id, .exit_code = exit_code_of(status), .out = content_of(child.out), .err = content_of(child.err)};
  close(child.out);
  close(child.err);
  return end;
}

Result<JobEnd> Pool::wait() {
  for (;;) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      int status = 0;
      if (waitpid(children_[i].pid, &status, WNOHANG) != children_[i].pid) continue;
      Child const child = children_[i];
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      return collect(child, status);
    }
    if (children_.empty()) return Error{Errc::NotFound, "nothing runs", ""};
    timespec const tick{.tv_sec = 0, .tv_nsec = kTickNs};
    int const signal = sigtimedwait(&signals_, nullptr, &tick);
    if (signal > 0 && signal != SIGCHLD) {
      interrupted_ = signal;
      end_all();
      return Error{Errc::Io, "interrupted", ""};
    }
    if (tick_) tick_();
  }
}

// Asks them to end, and after some patience makes them.
void Pool::end_all() {
  for (Child const& child : children_) kill(-child.pid, SIGTERM);
  for (int ticks = 0; !children_.empty(); ++ticks) {
    std::erase_if(children_, [&](const Child& child) {
      int status = 0;
      if (waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
      // What it started is in its group still, should it have gone first.
      kill(-child.pid, SIGKILL);
      collect(child, status);
      return true;
    });
    if (children_.empty()) break;
    if (ticks >= kPatienceTicks)
      for (Child const& child : children_) kill(-child.pid, SIGKILL);
    timespec const tick{.tv_sec = 0, .tv_nsec = kTickNs};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigtimedwait(&ends, nullptr, &tick);
  }
}

}  // namespace tidemark::cli
