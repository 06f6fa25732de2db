// SPDX-License-Identifier: Apache-2.0
// Injected faults: the call that is named fails, and no other.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

std::string output(const std::string& name, const std::string& faults) {
  return run(scenario(name, {"SOFTGPU_FAULT=" + faults})).out;
}

TEST(Faults, TheNthAllocationFails) {
  EXPECT_EQ("0 0 0 0 0 0 \n", output("allocate_six", "oom@7"));
  EXPECT_EQ("2 0 0 0 0 0 \n", output("allocate_six", "oom@1"));
  EXPECT_EQ("0 2 0 0 0 0 \n", output("allocate_six", "oom@2"));
  EXPECT_EQ("0 0 2 0 2 0 \n", output("allocate_six", "oom@3,oom@5"));
  EXPECT_EQ("0 0 0 2 0 0 \n", output("allocate_six", "oom@4"));
}

TEST(Faults, LargeAllocationsFail) {
  EXPECT_EQ("0 0 0 0 2 2 \n", output("allocate_six", "oom@>4MiB"));
  EXPECT_EQ("0 0 0 0 0 2 \n", output("allocate_six", "oom@>8MiB"));
}

TEST(Faults, TheNthLaunchFailsAndItsContextWithIt) {
  EXPECT_EQ("0 0 719 719 \n", output("launch_four", "launch@3"));
  EXPECT_EQ("0 214 214 214 \n", output("launch_four", "ecc@2"));
  static_assert(cudaErrorLaunchFailure == 719 && cudaErrorECCUncorrectable == 214);
}

TEST(Faults, SlowCallsTakeTheirTime) {
  EXPECT_GE(std::stol(output("free_ten", "slow:FREE=2ms")), 20);
  EXPECT_GE(std::stol(output("free_ten", "slow:cuMemFree=3ms")), 30);
  EXPECT_LT(std::stol(output("free_ten", "slow:ALLOC=1ms")), 20);
}

TEST(Faults, EveryKindOfWaitCanBeSlow) {
  for (std::string const call : {"SYNC", "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"})
    EXPECT_GE(std::stol(output("synchronize_ten", "slow:" + call + "=2ms")), 20) << call;
}

TEST(Faults, AWordThatIsNoFaultStopsTheProgram) {
  for (std::string const faults :
       {"oom", "oom@0", "boom@3", "slow:FREE", "oom@1,,oom@2", "slow:FREEE=2ms", "slow:cuMemFreee=2ms"}) {
    Outcome const outcome = run(scenario("allocate_six", {"SOFTGPU_FAULT=" + faults}));
    EXPECT_EQ(1, outcome.exit_code) << faults;
    EXPECT_NE(std::string::npos, outcome.err.find("SOFTGPU_FAULT")) << faults << ": " << outcome.err;
    EXPECT_NE(std::string::npos, outcome.err.find("not a fault")) << faults << ": " << outcome.err;
  }
}

}  // namespace
}  // namespace conformance
