// SPDX-License-Identifier: Apache-2.0
// Another program, with an environment of its own, run to its end or held while the test goes on.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace conformance {

struct Outcome {
  int exit_code = -1;  // 128 + signal when one ended it
  std::string out, err;
};

// `environment`: "NAME=value" in addition to this process's own.
struct Program {
  std::string path;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string folder = {};  // to start in; empty: this process's own
};

class Process {
 public:
  explicit Process(const Program& program);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // Blocks until the program has written a line to stdout; empty at the end of its output.
  std::string read_line();
  void close_stdin();
  void kill();
  // Reads all output, then waits for the end.
  Outcome wait();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
};

Outcome run(const Program& program);

}  // namespace conformance
