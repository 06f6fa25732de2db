// SPDX-License-Identifier: Apache-2.0
// Programs that run beside each other, a few at a time, with what they say kept. None of them is left behind: not when
// we are interrupted, not when we fail, not when we are killed.
//
// Of one thread: signals are blocked from the first start until the pool ends, and taken where it waits.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemark::cli {

struct Job {
  std::size_t id = 0;
  std::vector<std::string> words;        // the program's path first
  std::vector<std::string> environment;  // "NAME=value", beside what we have ourselves
};

struct JobEnd {
  std::size_t id = 0;
  int exit_code = 0;  // 128 + signal
  std::string out, err;
};

class Pool {
 public:
  // `tick` is called several times a second while it waits.
  explicit Pool(std::function<void()> tick);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Result<void> start(const Job& job);
  std::size_t running() const { return children_.size(); }
  // The first to end. An error: a signal came, the programs have been ended, and interrupted() says which it was.
  Result<JobEnd> wait();
  int interrupted() const { return interrupted_; }

 private:
  struct Child {
    std::size_t id = 0;
    pid_t pid = 0;
    int out = -1, err = -1;  // files in memory
  };
  void end_all();
  JobEnd collect(Child child, int status);

  std::function<void()> tick_;
  std::vector<Child> children_;
  sigset_t signals_{}, before_{};
  int interrupted_ = 0;
};

}  // namespace tidemark::cli
