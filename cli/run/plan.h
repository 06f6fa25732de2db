// SPDX-License-Identifier: Apache-2.0
// What `tidemark run` is to do, and the environment that makes it so. Pure: tested without starting anything.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/cache_flags.h"

namespace tidemark::cli {

struct Plan {
  std::vector<std::string> program;  // with its arguments
  std::string out;                   // the trace's name, absolute, %p and %r in it; empty: the library's default
  std::string profile;               // of the software device; empty: the machine's own
  std::string memory, mode, free, limit, ring;
  std::optional<bool> dry_run;
  bool stacks = false;
  CacheFlags cache;
  std::string driver_folder;  // of the second door: where libtidemark-driver.so.1 is; empty: the first door
  std::string run;            // the same for all processes of this launch
  std::string list;           // where each process writes its trace's name
};

// Where our own libraries are.
struct Libraries {
  std::string preload;  // libtidemark.so
  std::string soname;   // the folder of the second door's libcuda.so.1; empty: not here
  std::string softgpu;  // the folder of the software device; empty: not here
};
// Beside the running program: <prefix>/bin/tidemark and <prefix>/lib.
Result<Libraries> find_libraries();

using Environment = std::vector<std::string>;  // "NAME=value"

// The environment of the program: `inherited` with what the plan asks for. `preload_device`: the program names a folder
// of its own for libcudart that the library path does not win against.
Environment environment_for(const Plan& plan, const Libraries& libraries, Environment inherited, bool preload_device);

}  // namespace tidemark::cli
