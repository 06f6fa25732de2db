// SPDX-License-Identifier: Apache-2.0
// The account of random programs is the device's own, byte for byte after every call: see account/program.cpp.
// ACCOUNT_SEED and ACCOUNT_WALKS choose which and how many. Served memory has an account of the same exactness.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <sstream>

#include "tests/integration/preload/run_host.h"

namespace tidemark::test {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Another device for every seed: when work runs, whether values are computed, how much there is, when it refuses.
std::vector<std::string> surroundings(std::uint64_t seed) {
  std::vector<std::string> all{"SOFTGPU_DEVICES=2", "SOFTGPU_CONTEXT=100MiB"};
  std::string const schedules[] = {"eager", "late", "random:" + std::to_string(seed)};
  all.push_back("SOFTGPU_SCHEDULE=" + schedules[seed % 3]);
  all.push_back(seed % 5 == 0 ? "SOFTGPU_MEMORY=700MiB" : "SOFTGPU_MEMORY=4GiB");
  if (seed % 4 == 0) all.push_back("SOFTGPU_FAULT=oom@" + std::to_string(5 + seed % 40) + ",oom@>30MiB");
  return all;
}

std::vector<std::string> with(std::vector<std::string> all, std::initializer_list<const char*> more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void walk_in(const char* mode, const char* served) {
  std::uint64_t const first = setting("ACCOUNT_SEED", 1), walks = setting("ACCOUNT_WALKS", 100);
  std::map<std::string, int> well;
  for (std::uint64_t seed = first; seed < first + walks; ++seed) {
    Host const host{.name = "account_walk",
                    .arguments = {std::to_string(seed), "300"},
                    .environment = with(surroundings(seed), {mode, served}),
                    .out = "%f/walk.tide"};
    Ran const ran = run_host(host, How::Preloaded);
    ASSERT_EQ(ran.outcome.exit_code, 0) << "seed " << seed << "\n" << ran.outcome.out << ran.outcome.err << ran.said;
    std::istringstream lines(ran.outcome.out);
    for (std::string line; std::getline(lines, line);)
      if (std::size_t const colon = line.find(": "); colon != std::string::npos)
        well[line.substr(0, colon)] += std::atoi(line.c_str() + colon + 2);
  }
  // Nothing is shown by calls that never succeed.
  for (auto const& [action, times] : well) EXPECT_GT(times, 0) << action;
  EXPECT_GE(well.size(), 40u);
}

TEST(Account, OfRandomProgramsIsTheDevicesOwn) {
  walk_in("TIDEMARK_MODE=observe", "ACCOUNT_SERVED=0");
}

TEST(Account, OfServedMemoryIsTheProgramsOwnAndTheDevices) {
  walk_in("TIDEMARK_MODE=cache", "ACCOUNT_SERVED=1");
}

}  // namespace
}  // namespace tidemark::test
