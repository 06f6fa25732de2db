// SPDX-License-Identifier: Apache-2.0
// Which mode is taken where, and that it is told: in the trace's head, in its facts, and on stderr.
#include <gtest/gtest.h>

#include "tests/integration/preload/run_host.h"
#include "tests/support/replay.h"

namespace tidemark::test {
namespace {

struct Case {
  const char* name;
  Host host;
  const char* choice;  // "": none is made
  trace::Mode mode;
  const char* why = "";       // the fact mode.observe
  bool told_at_once = false;  // on stderr, when it happens
  bool serves_some = false;   // blocks are served, before it
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

Host opens(const char* when, const char* library) {
  return {.name = "opens_framework", .arguments = {when, std::string(HOSTS_FOLDER) + "/frameworks/" + library}};
}

std::vector<Case> cases() {
  using trace::Mode;
  const char* const torch = "PyTorch has an allocator of its own";
  const char* const nccl = "NCCL hands memory to other processes";
  return {
      {"Default", {"plain"}, "", Mode::Cache, "", false, true},
      {"Auto", {"plain"}, "auto", Mode::Cache, "", false, true},
      {"Cache", {"plain"}, "cache", Mode::Cache, "", false, true},
      {"Observe", {"plain"}, "observe", Mode::Observe},
      {"AutoWithPyTorch", opens("before", "libc10_cuda.so"), "auto", Mode::Observe, torch},
      {"AutoWithTensorFlow", opens("before", "libtensorflow_framework.so.2"), "auto", Mode::Observe,
       "TensorFlow has an allocator of its own"},
      {"AutoWithXla", opens("before", "xla_cuda_plugin.so"), "auto", Mode::Observe, "XLA has an allocator of its own"},
      {"AutoWithNccl", opens("before", "libnccl.so.2"), "auto", Mode::Observe, nccl},
      {"CacheWithPyTorch", opens("before", "libc10_cuda.so"), "cache", Mode::Cache, "", true, true},
      {"AutoWithPyTorchLater", opens("after", "libc10_cuda.so"), "auto", Mode::Cache, torch, true, true},
      {"AutoWithNcclLater", opens("after", "libnccl.so.2"), "auto", Mode::Cache, nccl, true, true},
      {"AutoOfAProgramThatHandsOut",
       {"hands_out"},
       "auto",
       Mode::Observe,
       "the program hands memory to other processes"},
      {"CacheOfAProgramThatHandsOut",
       {"hands_out"},
       "cache",
       Mode::Cache,
       "memory is to be shared with another process (--mode observe shares all of it)",
       true,
       true},
  };
}

// A served block has a generation.
std::size_t served_blocks(const trace::Trace& trace) {
  std::size_t count = 0;
  for (trace::Event const& event : ordered_events(trace))
    count += event.type == trace::Event::Type::Alloc && event.generation != 0 ? 1 : 0;
  return count;
}

class ModeTaken : public testing::TestWithParam<Case> {};

TEST_P(ModeTaken, IsTold) {
  Case const& c = GetParam();
  Host host = c.host;
  if (c.choice[0] != '\0') host.environment.push_back(std::string("TIDEMARK_MODE=") + c.choice);
  Ran const bare = run_host(c.host, How::Bare), with = run_host(host, How::Preloaded);
  EXPECT_EQ(bare.outcome.out, with.outcome.out);
  EXPECT_EQ(bare.outcome.exit_code, with.outcome.exit_code);
  ASSERT_EQ(with.traces.size(), 1u) << with.said;
  trace::Trace const& trace = with.traces[0];
  const char* const mode = c.mode == trace::Mode::Cache ? "cache" : "observe";
  EXPECT_EQ(trace.header().mode, c.mode);
  EXPECT_EQ(trace.names().fact("mode"), mode);
  EXPECT_EQ(trace.names().fact("mode.observe"), c.why);
  EXPECT_NE(with.said.find(std::string("tidemark: mode ") + mode + ", peak "), std::string::npos) << with.said;
  EXPECT_EQ(c.told_at_once, with.said.find("observe") < with.said.find("tidemark: mode ")) << with.said;
  std::size_t const served = served_blocks(trace);
  EXPECT_EQ(served != 0, c.serves_some);
  bool const all = c.serves_some && c.why[0] == '\0';
  std::size_t const blocks = replay(trace).allocations();
  EXPECT_EQ(served == blocks, all) << served << " of " << blocks;
  EXPECT_EQ(std::vector<std::string>{}, faults_of(trace, true));
}

INSTANTIATE_TEST_SUITE_P(Hosts, ModeTaken, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

}  // namespace
}  // namespace tidemark::test
