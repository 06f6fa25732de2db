// SPDX-License-Identifier: Apache-2.0
// Where a command's results go. Data is for stdout or a file, talk is for stderr.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::cli {

// A closed pipe is an answer to a write from here on, not the end of the process: files are still finished.
void survive_closed_pipes();
// What they did before, for programs that are started from here: a handler of <signal.h>.
void (*closed_pipes_before())(int);

// To stdout. That nobody reads it any more is no error: whoever closed the pipe has seen enough.
Result<void> print(std::string_view text);

struct Target {
  std::string path;
  bool force = false;                // write over what is there
  std::vector<std::string> sources;  // files that the text was made from, and that are never written over
  std::string source = "the trace";  // what such a file is called
};
Result<void> save(const Target& target, std::string_view text);

// What stdout can show.
struct Screen {
  bool colour = false;
  bool unicode = true;
  std::size_t width = 100;    // for text that is read
  std::size_t columns = 100;  // that there are: for what must not be cut without need
};
Screen screen();

// Whatever they are called.
bool same_file(const std::string& a, const std::string& b);

// To stderr, for a person; a missing end of line is added.
void talk(std::string_view text);

// "error: what" and "hint: the way out" on stderr. Nobody else prints these.
void complain(const Error& error);

}  // namespace tidemark::cli
