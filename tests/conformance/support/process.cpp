// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

extern char** environ;

namespace conformance {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
    }
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The later of two settings of one name counts.
std::vector<std::string> merged_environment(const std::vector<std::string>& extra) {
  std::map<std::string, std::string> settings;
  auto const take = [&](const std::string& text) { settings[text.substr(0, text.find('='))] = text; };
  for (char** entry = environ; *entry != nullptr; ++entry) take(*entry);
  for (std::string const& text : extra) take(text);
  std::vector<std::string> all;
  for (auto const& [name, text] : settings) all.push_back(text);
  return all;
}

// False at the end of the stream.
bool append(int file, std::string& text) {
  std::array<char, 4096> buffer;
  ssize_t const n = ::read(file, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

Process::Process(const Program& program) {
  Pipe const in, out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  if (!program.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  std::vector<std::string> arguments{program.path};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  std::vector<std::string> environment = merged_environment(program.environment);
  if (::posix_spawn(&pid_, program.path.c_str(), &actions, nullptr, pointers(arguments).data(),
                    pointers(environment).data()) != 0)
    pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  for (int const end : {in.read, out.write, err.write}) ::close(end);
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
}

Process::~Process() {
  if (pid_ > 0) {
    kill();
    wait();
  }
}

std::string Process::read_line() {
  std::string line;
  char c = 0;
  while (::read(out_, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

void Process::close_stdin() {
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

void Process::kill() {
  ::kill(pid_, SIGKILL);
}

Outcome Process::wait() {
  Outcome outcome;
  close_stdin();
  std::array<pollfd, 2> files{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0 && !append(out_, outcome.out)) files[0].fd = -1;
    if (files[1].revents != 0 && !append(err_, outcome.err)) files[1].fd = -1;
  }
  ::close(out_);
  ::close(err_);
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_)
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  return outcome;
}

Outcome run(const Program& program) {
  Process process(program);
  return process.wait();
}

}  // namespace conformance
