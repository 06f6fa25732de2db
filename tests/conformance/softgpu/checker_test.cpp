// SPDX-License-Identifier: Apache-2.0
// The checker's own tests: planted mistakes are found and named, right programs pass in silence.
#include <gtest/gtest.h>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

constexpr int kReported = 86;

Outcome check(const std::string& name, const std::string& schedule, const std::string& mode = "SOFTGPU_DRY_RUN=0") {
  return run(scenario(name, {"SOFTGPU_CHECK=1", "SOFTGPU_SCHEDULE=" + schedule, mode}));
}

struct Planted {
  const char* scenario;
  const char* said;
};

std::ostream& operator<<(std::ostream& out, const Planted& planted) {
  return out << planted.scenario;
}

class CheckerFinds : public testing::TestWithParam<Planted> {};

TEST_P(CheckerFinds, UnderTheLateSchedule) {
#if defined(__SANITIZE_ADDRESS__)
  if (GetParam().scenario == std::string("unmap_in_use"))
    GTEST_SKIP() << "AddressSanitizer takes such faults for itself";
#endif
  Outcome const outcome = check(GetParam().scenario, "late");
  EXPECT_EQ(kReported, outcome.exit_code) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find(GetParam().said)) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("queued at:")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("conformance_scenarios+0x")) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(All, CheckerFinds,
                         testing::Values(Planted{"free_on_another_stream", "use after free"},
                                         Planted{"reuse_on_another_stream", "early reuse"},
                                         Planted{"copy_from_freed_memory", "use after free"},
                                         Planted{"plain_free_of_pool_memory_in_use", "use after free"},
                                         Planted{"plain_memory_freed_on_another_stream", "use after free"},
                                         Planted{"use_before_allocation", "use before allocation"},
                                         Planted{"unmap_in_use", "use after free"},
                                         Planted{"unmap_copy_in_use", "use after free"},
                                         Planted{"allocator_frees_in_use", "use after free"},
                                         Planted{"allocator_serves_again_in_use", "early reuse"},
                                         Planted{"allocator_frees_on_another_stream", "use after free"},
                                         Planted{"queued_after_the_allocators_free", "queued after the free"},
                                         Planted{"queued_after_a_free", "queued after the free"}),
                         [](const auto& planted) { return std::string(planted.param.scenario); });

TEST(Checker, NamesKernelStreamAndAddress) {
  Outcome const outcome = check("free_on_another_stream", "late");
  EXPECT_NE(std::string::npos, outcome.err.find("conformance::fill(unsigned int*")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find(" on stream ")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find(" writes 0x")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("1 report, exit code 86")) << outcome.err;
}

// Late is as late as the API allows, so that a mistake shows; random schedules meet it sooner or later.
TEST(Checker, FindsEarlyReuseUnderSomeRandomSchedules) {
  int found = 0;
  for (int seed = 1; seed <= 20; ++seed)
    found += check("reuse_on_another_stream", "random:" + std::to_string(seed)).exit_code == kReported;
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 20);
}

TEST(Checker, SaysNothingWithoutBeingAsked) {
  Outcome const outcome = run(scenario("reuse_on_another_stream", {"SOFTGPU_SCHEDULE=late"}));
  EXPECT_EQ(0, outcome.exit_code) << outcome.err;
  EXPECT_EQ("", outcome.err);
  EXPECT_EQ("the same address\n", outcome.out);
}

TEST(Checker, IsSilentInRightPrograms) {
  for (const char* const name : {"clean", "clean_unused_allocation"})
    for (std::string const schedule : {"eager", "late", "random:1", "random:2", "random:3", "random:4", "random:5"}) {
      Outcome const outcome = check(name, schedule);
      EXPECT_EQ(0, outcome.exit_code) << name << " under " << schedule << ": " << outcome.out << outcome.err;
      EXPECT_EQ("", outcome.err);
    }
}

TEST(Checker, SeesCopiesAndPointerParametersInADryRun) {
  Outcome const copies = check("copy_from_freed_memory", "late", "SOFTGPU_DRY_RUN=1");
  EXPECT_EQ(kReported, copies.exit_code) << copies.err;
  Outcome const kernels = check("allocator_serves_again_in_use", "late", "SOFTGPU_DRY_RUN=1");
  EXPECT_EQ(kReported, kernels.exit_code) << kernels.err;
  Outcome const clean = check("clean", "late", "SOFTGPU_DRY_RUN=1");
  EXPECT_EQ(0, clean.exit_code) << clean.err;
}

}  // namespace
}  // namespace conformance
