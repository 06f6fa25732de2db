// SPDX-License-Identifier: Apache-2.0
// What a process finds when it looks for CUDA. Run in a process of its own (tidemark doctor --probe): a driver that is
// broken may end it, and the library path and what is preloaded differ from question to question.
//
// The answers are lines "key=value" on stdout. Functions are declared here by hand: this folder builds without CUDA.
#pragma once
#include <map>
#include <string>

#include "base/result.h"

namespace tidemark::cli {

using Findings = std::map<std::string, std::string>;

// Prints what it finds; the exit code of the process.
int probe();
Findings parse_findings(const std::string& text);

}  // namespace tidemark::cli
