// SPDX-License-Identifier: Apache-2.0
// Ordinary CUDA programs behave as they do alone, and their account is the device's: CUPTI's records of the software
// device tell every operation, whoever asked for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/preload/run_host.h"
#include "tests/support/replay.h"

namespace tidemark::test {
namespace {

struct Ordinary {
  std::string path;
  std::vector<std::string> arguments, environment;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Rows of PATH|ARGUMENTS|ENVIRONMENT.
std::vector<Ordinary> programs() {
  std::ifstream file(PROGRAMS_LIST);
  std::vector<Ordinary> all;
  for (std::string path, arguments, environment; std::getline(file, path, '|');) {
    std::getline(file, arguments, '|');
    std::getline(file, environment);
    all.push_back({path, words(arguments), words(environment)});
  }
  return all;
}

void PrintTo(const Ordinary& program, std::ostream* out) {
  *out << program.path;
}

class ProgramTest : public testing::TestWithParam<Ordinary> {};

TEST_P(ProgramTest, IsUnharmedAndItsAccountIsTheDevices) {
  Ordinary const& program = GetParam();
  Host const host{.name = program.path, .arguments = program.arguments, .environment = program.environment};
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Everything);
  EXPECT_EQ(bare.outcome.exit_code, with.outcome.exit_code) << with.outcome.err;
  EXPECT_EQ(bare.outcome.err, with.outcome.err);
  ASSERT_EQ(with.traces.size(), 1u) << with.said;
  for (trace::Trace const& trace : with.traces) {
    EXPECT_EQ(std::vector<std::string>{}, faults_of(trace, true)) << with.said;
    EXPECT_EQ(trace.names().fact("cupti.audit"), "agrees") << trace.names().fact("cupti.audit.samples") << with.said;
    EXPECT_EQ(trace.names().fact("cupti.audit.difference_bytes"), "0");
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ProgramTest, testing::ValuesIn(programs()),
                         [](const auto& test) { return std::filesystem::path(test.param.path).filename().string(); });

}  // namespace
}  // namespace tidemark::test
