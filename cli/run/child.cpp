// SPDX-License-Identifier: Apache-2.0
#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cli/output.h"

namespace tidemark::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (int const signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// What the program inherits of us as if we were not there.
struct Inherited {
  sigset_t mask{};
  struct sigaction children {};
};

void restore(const Inherited& before) {
  sigaction(SIGCHLD, &before.children, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
}

// In the child. Only what is safe between fork and exec.
[[noreturn]] void become(const char* path, char** arguments, char** environment, const Inherited& before, int report) {
  signal(SIGPIPE, closed_pipes_before());
  restore(before);
  execve(path, arguments, environment);
  int const why = errno;
  [[maybe_unused]] ssize_t const n = write(report, &why, sizeof why);
  _exit(127);
}

// 0 once the program runs, else why it does not.
int start_failure(int report) {
  int why = 0;
  ssize_t n = 0;
  do n = read(report, &why, sizeof why);
  while (n < 0 && errno == EINTR);
  close(report);
  return n == sizeof why ? why : 0;
}

// A signal that the terminal sends goes to the whole group, and so to the program by itself.
bool from_terminal(const siginfo_t& info) {
  return info.si_code == SI_KERNEL &&
         (info.si_signo == SIGINT || info.si_signo == SIGQUIT || info.si_signo == SIGWINCH);
}

int wait_for(pid_t child, const sigset_t& signals) {
  for (int status = 0;;) {
    siginfo_t info{};
    int const signal = sigwaitinfo(&signals, &info);
    if (signal < 0) continue;
    if (signal == SIGCHLD) {
      if (waitpid(child, &status, WNOHANG) == child) return status;
    } else if (!from_terminal(info)) {
      kill(child, signal);
    }
  }
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string const& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<Ended> run_child(const std::string& path, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment) {
  std::vector<char*> argument_list = pointers(arguments), environment_list = pointers(environment);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    return Error{Errc::Io, std::string("cannot make a pipe: ") + std::strerror(errno), ""};
  sigset_t const signals = watched();
  Inherited before;
  sigprocmask(SIG_BLOCK, &signals, &before.mask);
  // Whoever ignores the end of his children is not told of it, and cannot ask how it was.
  struct sigaction told {};
  told.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &told, &before.children);
  pid_t const child = fork();
  if (child == 0) become(path.c_str(), argument_list.data(), environment_list.data(), before, report[1]);
  close(report[1]);
  if (child < 0) {
    int const why = errno;
    close(report[0]);
    restore(before);
    return Error{Errc::Io, std::string("cannot start a process: ") + std::strerror(why), ""};
  }
  Ended ended{.pid = child, .start_failure = start_failure(report[0])};
  ended.status = wait_for(child, signals);
  restore(before);
  return ended;
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace tidemark::cli
