// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/config.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

// Variables for one test; put back afterwards.
class Environment : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    names_.push_back(name);
    ::setenv(name, value, 1);
  }
  void TearDown() override {
    for (auto const* name : names_) ::unsetenv(name);
  }

 private:
  std::vector<const char*> names_;
};

using Config_ = Environment;

TEST_F(Config_, DefaultIsOneEagerA100) {
  auto const c = read_config();
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->profile->name, "a100-80g");
  EXPECT_EQ(c->memory, c->profile->memory);
  EXPECT_EQ(c->device_count, 1);
  EXPECT_EQ(c->schedule, Schedule::Eager);
  EXPECT_EQ(c->run_mode, RunMode::Auto);
  EXPECT_EQ(c->device_name(), "SoftGPU (a100-80g)");
}

TEST_F(Config_, EveryVariableIsRead) {
  set("SOFTGPU_PROFILE", "t4-16g");
  set("SOFTGPU_MEMORY", "8GiB");
  set("SOFTGPU_CONTEXT", "100MiB");
  set("SOFTGPU_DEVICES", "4");
  set("SOFTGPU_SCHEDULE", "random:42");
  set("SOFTGPU_CLOCK", "sim");
  set("SOFTGPU_KERNEL_TIME", "100us");
  set("SOFTGPU_DRY_RUN", "0");
  set("SOFTGPU_CHECK", "1");
  set("SOFTGPU_FAULT", "oom@120,oom@>2GiB,launch@7,ecc@9,slow:FREE=2ms");
  auto const c = read_config();
  ASSERT_TRUE(c.ok()) << c.error().what;
  EXPECT_EQ(c->memory, 8_GiB);
  EXPECT_EQ(c->context_overhead, 100_MiB);
  EXPECT_EQ(c->device_count, 4);
  EXPECT_EQ(c->seed, 42u);
  EXPECT_EQ(c->clock, ClockKind::Simulated);
  EXPECT_EQ(c->kernel_ns, 100'000u);
  EXPECT_EQ(c->run_mode, RunMode::Execute);
  ASSERT_EQ(c->faults.size(), 5u);
  EXPECT_EQ(c->faults[1].value, (2_GiB).n);
  EXPECT_EQ(c->faults[4].call, "FREE");
  EXPECT_EQ(c->faults[4].value, 2'000'000u);
}

struct Bad {
  const char* variable;
  const char* value;
};

class BadVariable : public testing::TestWithParam<Bad> {};

TEST_P(BadVariable, IsAnErrorThatNamesIt) {
  ::setenv(GetParam().variable, GetParam().value, 1);
  auto const c = read_config();
  ::unsetenv(GetParam().variable);
  ASSERT_FALSE(c.ok());
  EXPECT_FALSE(c.error().hint.empty());
  bool const named = c.error().what.find(GetParam().variable) != std::string::npos;
  EXPECT_TRUE(named || c.error().what.find(GetParam().value) != std::string::npos) << c.error().what;
}

INSTANTIATE_TEST_SUITE_P(All, BadVariable,
                         testing::Values(Bad{"SOFTGPU_PROFILE", "a200"}, Bad{"SOFTGPU_MEMORY", "lots"},
                                         Bad{"SOFTGPU_MEMORY", "1KiB"}, Bad{"SOFTGPU_DEVICES", "0"},
                                         Bad{"SOFTGPU_DEVICES", "17"}, Bad{"SOFTGPU_SCHEDULE", "random"},
                                         Bad{"SOFTGPU_SCHEDULE", "random:x"}, Bad{"SOFTGPU_CLOCK", "fast"},
                                         Bad{"SOFTGPU_KERNEL_TIME", "soon"}, Bad{"SOFTGPU_DRY_RUN", "maybe"},
                                         Bad{"SOFTGPU_FAULT", "oom"}, Bad{"SOFTGPU_FAULT", "oom@0"},
                                         Bad{"SOFTGPU_FAULT", "launch@x"}, Bad{"SOFTGPU_FAULT", "slow:=1ms"}));

}  // namespace
}  // namespace tidemark::softgpu
