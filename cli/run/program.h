// SPDX-License-Identifier: Apache-2.0
// What can be told of a program before it is started: whether it is there, and whether the system will let us into it.
#pragma once
#include <string>

#include "base/result.h"

namespace tidemark::cli {

struct Program {
  std::string path;             // as it will be started
  bool binary = false;          // begins like one; else a script
  bool elf = false;             // and can be read
  bool dynamic = false;         // linked to shared libraries: only then can anything be preloaded
  bool set_user = false;        // runs as somebody else: the system ignores what is preloaded
  bool static_runtime = false;  // has device code and no shared CUDA runtime
  bool rpath = false;           // names folders for its libraries that win against the library path
};

// Looks a name up as the shell does. NotFound, or InvalidArgument where it cannot be executed.
Result<Program> inspect(const std::string& name);

}  // namespace tidemark::cli
