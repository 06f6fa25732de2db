// SPDX-License-Identifier: Apache-2.0
// A host program run in a folder of its own: bare, with the library preloaded, or by the tidemark command.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/support/process.h"
#include "trace/read/trace.h"

namespace tidemark::test {

// Observed: memory is the driver's own. Everything: with call stacks and CUPTI.
enum class How { Bare, Preloaded, Observed, Everything, Command };

// One line of a host's own account.
struct Account {
  std::uint64_t allocations = 0, frees = 0, live_bytes = 0;
  std::uint64_t lost = 0;  // at most, and then counted
};

struct Host {
  std::string name;  // of the program; a path for others than the hosts
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
  std::string preload_before = {}, preload_after = {};  // other libraries, in front of ours and behind it
  std::string out = "trace-%p.tide";                    // where the trace goes; relative: into the host's folder, %f
  std::string launcher = {};                            // a program that starts the host; empty: none
  std::vector<std::string> launcher_arguments = {};
};

// What is left of a run. The folder goes with it.
struct Ran {
  conformance::Outcome outcome;
  std::string said;                          // by tidemark on stderr; taken out of outcome.err
  std::map<std::string, std::string> files;  // the host's own, by name
  std::vector<trace::Trace> traces;          // in the order in which they began
  std::vector<std::string> unreadable;       // .tide files that did not open, and why
  std::vector<Account> accounts;
};
Ran run_host(const Host& host, How how);

// What holds for every trace whatever its program did: events that can be, and a header that agrees with them. Not
// `exact`: threads were at work when the process ended, each perhaps between a record and its counter.
std::vector<std::string> faults_of(const trace::Trace& trace, bool exact);

}  // namespace tidemark::test
