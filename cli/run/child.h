// SPDX-License-Identifier: Apache-2.0
// Starts a program and waits for it as if it had been started without us: signals that are meant for it reach it, and
// its end is told as the system tells it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tidemark::cli {

struct Ended {
  pid_t pid = 0;
  int status = 0;         // as waitpid gives it
  int start_failure = 0;  // an errno: the program was never started
};

// Once per process: signals are taken over for as long as the program runs.
Result<Ended> run_child(const std::string& path, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment);

// As execve wants them; they live as long as the texts.
std::vector<char*> pointers(const std::vector<std::string>& texts);

// The exit code by which a shell would know this end.
int exit_code_of(int status);

}  // namespace tidemark::cli
