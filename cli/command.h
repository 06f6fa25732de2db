// SPDX-License-Identifier: Apache-2.0
// One table of subcommands. A command turns its arguments into an exit code, or into an error that main prints; what it
// has to say goes through cli/output.h.
#pragma once
#include <span>
#include <string_view>

#include "base/result.h"

namespace tidemark::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kLimit = 3;  // a limit that the user set was crossed

// What follows the command's name.
using Words = std::span<const char* const>;

struct Command {
  std::string_view name;
  std::string_view summary;
  Result<int> (*run)(Words words);
};

std::span<const Command> commands();

Result<int> cmd_devices(Words words);
Result<int> cmd_doctor(Words words);
Result<int> cmd_plan(Words words);
Result<int> cmd_replay(Words words);
Result<int> cmd_report(Words words);
Result<int> cmd_run(Words words);
Result<int> cmd_savings(Words words);
Result<int> cmd_top(Words words);

}  // namespace tidemark::cli
