// SPDX-License-Identifier: Apache-2.0
// A program run on the software device in a folder of its own, bare or with libtidemark.so preloaded, and its trace.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "tests/conformance/support/process.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark {

struct ScopeRun {
  std::string program;
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
  bool preloaded = true;
};

struct Outcome {
  conformance::Outcome program;
  std::optional<trace::Trace> trace;
  std::string tool_log;  // of nvtx_tool.cpp
};

inline Outcome run(const ScopeRun& run) {
  trace::Folder const folder;
  std::string const path = folder.file("a.tide"), log = folder.file("log");
  std::vector<std::string> environment{"LD_LIBRARY_PATH=" SOFTGPU_FOLDER,
                                       "SOFTGPU_DRY_RUN=1",
                                       "SOFTGPU_QUIET=1",
                                       "TIDEMARK_OUT=" + path,
                                       "TIDEMARK_SUMMARY=0",
                                       "TOOL_LOG=" + log};
  if (run.preloaded) environment.emplace_back("LD_PRELOAD=" TIDEMARK_LIBRARY);
  environment.insert(environment.end(), run.environment.begin(), run.environment.end());
  Outcome outcome{
      .program = conformance::run(
          {.path = run.program, .arguments = run.arguments, .environment = environment, .folder = folder.file("")})};
  std::ifstream log_file(log);
  outcome.tool_log.assign(std::istreambuf_iterator<char>(log_file), {});
  if (std::filesystem::exists(path)) outcome.trace = trace::read_back(path);
  return outcome;
}

// "phase:layer" of every block, by the size that the program asked for.
inline std::map<std::uint64_t, std::string> places(const trace::Trace& trace) {
  std::map<std::uint64_t, std::string> found;
  for (trace::Event const& e : trace::events_of(trace, trace::Event::Type::Alloc))
    found[e.size_bytes] =
        std::string(name(static_cast<trace::Phase>(e.context.phase))) + ":" + trace.names().path(e.context.scope);
  return found;
}

}  // namespace tidemark
