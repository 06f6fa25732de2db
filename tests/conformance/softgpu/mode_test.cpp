// SPDX-License-Identifier: Apache-2.0
// Execute mode and dry run: which it is, is said; what either cannot do, is said once and by name.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

const std::string kExecute = "SOFTGPU_DRY_RUN=0", kDry = "SOFTGPU_DRY_RUN=1", kLoud = "SOFTGPU_QUIET=0";

long lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(Mode, OneLineNamesTheDeviceAsSoftwareWithItsModeAndTheReason) {
  EXPECT_EQ("softgpu: SoftGPU (t4-16g), a software device of 1.00 GiB; kernels run on the CPU (SOFTGPU_DRY_RUN=0)\n",
            run(scenario("show_free", {kExecute, kLoud, "SOFTGPU_PROFILE=t4-16g"})).err);
  EXPECT_EQ(
      "softgpu: SoftGPU (a100-80g), a software device of 1.00 GiB (3 of them); dry run, kernels are skipped and values "
      "are meaningless (SOFTGPU_DRY_RUN=1)\n",
      run(scenario("show_free", {kDry, kLoud, "SOFTGPU_DEVICES=3"})).err);
  std::string const found = run(scenario("show_free", {"SOFTGPU_DRY_RUN=", kLoud})).err;
  EXPECT_NE(std::string::npos, found.find("kernels run on the CPU (bodies from " CONFORMANCE_SCENARIOS ".softgpu.so)"))
      << found;
  EXPECT_EQ("", run(scenario("show_free", {kDry})).err);
}

TEST(Mode, ADryRunSaysWhatTheCheckerCannotSee) {
  std::string const said = run(scenario("show_free", {kDry, kLoud, "SOFTGPU_CHECK=1"})).err;
  EXPECT_EQ(2, lines(said)) << said;
  EXPECT_NE(std::string::npos, said.find("check: in dry run only copies, sets, library calls and pointer parameters"));
  EXPECT_EQ(1, lines(run(scenario("show_free", {kExecute, kLoud, "SOFTGPU_CHECK=1"})).err));
}

TEST(Mode, ALaunchWithoutABodyIsAnErrorThatNamesTheKernelOnceUnlessItIsADryRun) {
  Outcome const executed = run(scenario("launch_kernels_without_bodies", {kExecute}));
  EXPECT_EQ("cudaErrorNoKernelImageForDevice cudaErrorNoKernelImageForDevice cudaSuccess\n", executed.out);
  EXPECT_EQ(1, lines(executed.err)) << executed.err;
  EXPECT_NE(std::string::npos, executed.err.find("without_body")) << executed.err;
  Outcome const dry = run(scenario("launch_kernels_without_bodies", {kDry}));
  EXPECT_EQ("cudaSuccess cudaSuccess cudaSuccess\n", dry.out);
  EXPECT_EQ("", dry.err);
}

TEST(Mode, VariablesHaveTheirInitialValuesOrAreZeroWhichIsSaidOnce) {
  Outcome const executed = run(scenario("read_two_variables", {kExecute}));
  EXPECT_EQ("17 40\n", executed.out);
  EXPECT_EQ("", executed.err);
  Outcome const dry = run(scenario("read_two_variables", {kDry}));
  EXPECT_EQ("0 0\n", dry.out);
  EXPECT_EQ(1, lines(dry.err)) << dry.err;
  EXPECT_NE(std::string::npos, dry.err.find("start at zero")) << dry.err;
}

TEST(Mode, ADryRunKeepsSmallCopiesAndSetsOnly) {
  EXPECT_EQ("copied set\nlost lost\n",
            run(scenario("copy_and_set_64_kib_and_more", {kDry, "SOFTGPU_DRY_COPY=64KiB"})).out);
  EXPECT_EQ("copied set\ncopied set\n", run(scenario("copy_and_set_64_kib_and_more", {kDry})).out);
  EXPECT_EQ("copied set\ncopied set\n",
            run(scenario("copy_and_set_64_kib_and_more", {kExecute, "SOFTGPU_DRY_COPY=64KiB"})).out);
}

}  // namespace
}  // namespace conformance
