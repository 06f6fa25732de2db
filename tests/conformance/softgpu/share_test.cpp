// SPDX-License-Identifier: Apache-2.0
// Several processes on one device: each sees what the others hold; what a killed one held comes back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

constexpr long kMiB = 1024 * 1024;

class SharedDevice : public testing::Test {
 protected:
  void TearDown() override {
    std::remove(("/dev/shm/softgpu-" + std::to_string(::getuid()) + "-" + name_ + "-0").c_str());
  }
  Program on_device(const std::string& what, const std::string& memory = "1GiB") const {
    return scenario(what, {"SOFTGPU_SHARE=" + name_, "SOFTGPU_CONTEXT=10MiB", "SOFTGPU_MEMORY=" + memory});
  }
  long free_bytes() const {
    Outcome const outcome = run(on_device("show_free"));
    EXPECT_EQ(0, outcome.exit_code) << outcome.err;
    return outcome.out.empty() ? -1 : std::stol(outcome.out);
  }
  std::string name_ = "conformance" + std::to_string(::getpid());
};

TEST_F(SharedDevice, EachSeesWhatTheOthersHold) {
  long const alone = free_bytes();
  EXPECT_EQ(1014 * kMiB, alone);  // its own context
  Process first(on_device("hold")), second(on_device("hold"));
  EXPECT_EQ("held", first.read_line());
  EXPECT_EQ("held", second.read_line());
  EXPECT_EQ(alone - 2 * 110 * kMiB, free_bytes());
  EXPECT_EQ(0, first.wait().exit_code);
  EXPECT_EQ(alone - 110 * kMiB, free_bytes());
  EXPECT_EQ(0, second.wait().exit_code);
  EXPECT_EQ(alone, free_bytes());
}

TEST_F(SharedDevice, AKilledProcessGivesItsMemoryBack) {
  long const alone = free_bytes();
  Process killed(on_device("hold"));
  EXPECT_EQ("held", killed.read_line());
  EXPECT_EQ(alone - 110 * kMiB, free_bytes());
  killed.kill();
  // Dead before it is waited for: memory is not a matter of the parent's manners.
  for (int i = 0; i < 100 && free_bytes() != alone; ++i) ::usleep(10000);
  EXPECT_EQ(alone, free_bytes());
  EXPECT_EQ(128 + 9, killed.wait().exit_code);
  EXPECT_EQ(alone, free_bytes());
}

TEST_F(SharedDevice, TheirSumIsTheLimit) {
  std::string const memory = "250MiB";
  Process first(on_device("hold", memory)), second(on_device("hold", memory));
  EXPECT_EQ("held", first.read_line());
  EXPECT_EQ("held", second.read_line());
  Outcome const third = run(on_device("hold", memory));
  EXPECT_EQ(1, third.exit_code);
  EXPECT_NE(std::string::npos, third.out.find("cudaErrorMemoryAllocation")) << third.out;
  second.close_stdin();
  EXPECT_EQ(0, second.wait().exit_code);
  Process fourth(on_device("hold", memory));
  EXPECT_EQ("held", fourth.read_line());
}

TEST_F(SharedDevice, MustBeOfOneSize) {
  Process first(on_device("hold"));
  EXPECT_EQ("held", first.read_line());
  Outcome const other = run(on_device("show_free", "2GiB"));
  EXPECT_EQ(1, other.exit_code);
  EXPECT_NE(std::string::npos, other.err.find("SOFTGPU_SHARE")) << other.err;
  EXPECT_EQ(0, first.wait().exit_code);
  // Nobody is left: the name is free for a device of another size.
  Outcome const alone = run(on_device("show_free", "2GiB"));
  EXPECT_EQ(0, alone.exit_code) << alone.err;
}

TEST_F(SharedDevice, OthersAreAlone) {
  Process first(on_device("hold"));
  EXPECT_EQ("held", first.read_line());
  Outcome const separate = run(scenario("show_free", {"SOFTGPU_CONTEXT=10MiB"}));
  EXPECT_EQ(1014 * kMiB, std::stol(separate.out));
}

}  // namespace
}  // namespace conformance
