// SPDX-License-Identifier: Apache-2.0
// Running a scenario (scenarios.cpp) under settings of softgpu's environment.
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/support/process.h"

namespace conformance {

// The build gives the paths: CONFORMANCE_SCENARIOS, CONFORMANCE_SOFTGPU and CONFORMANCE_STATIC_RUNTIME.
inline Program scenario(const std::string& name, const std::vector<std::string>& settings = {}) {
  Program program{CONFORMANCE_SCENARIOS, {name}, {std::string("LD_LIBRARY_PATH=") + CONFORMANCE_SOFTGPU}};
  for (const char* const fixed : {"SOFTGPU_QUIET=1", "SOFTGPU_MEMORY=1GiB", "SOFTGPU_DRY_RUN=0"})
    program.environment.emplace_back(fixed);
  program.environment.insert(program.environment.end(), settings.begin(), settings.end());
  return program;
}

}  // namespace conformance
