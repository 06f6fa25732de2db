// SPDX-License-Identifier: Apache-2.0
// Every host program behaves as it does alone, and its trace holds what it did.
#include <gtest/gtest.h>
#include <string.h>

#include "tests/integration/preload/run_host.h"
#include "tests/support/replay.h"

namespace tidemark::test {
namespace {

using trace::FileState;

// What is expected of the traces; their number is that of the host's accounts.
struct Hazard {
  const char* name;  // of the test
  Host host;
  FileState last_state = FileState::Closed;
  std::size_t traces = 1;
  bool has_account = true;  // else what it did depends on the moment: only that it can be is checked
  // Where its memory is served it is told something else, at one place.
  const char* told = "";
  const char* told_if_served = "";
};
void PrintTo(const Hazard& hazard, std::ostream* out) {
  *out << hazard.name;
}

std::vector<Hazard> hazards() {
  std::string const hosts = HOSTS_FOLDER;
  return {
      {.name = "ForkBeforeTheFirstCall", .host = {"fork_before"}, .traces = 2},
      // A child of a bare fork, of which CUDA is not told, has no CUDA on a card. The software device goes on in it,
      // and knows its parent's own blocks only.
      {.name = "ForkAfterTheFirstCall",
       .host = {"fork_after"},
       .told = "bare fork: cudaSuccess, cudaSuccess",
       .told_if_served = "bare fork: cudaSuccess, cudaErrorInvalidValue"},
      {.name = "ForkWhileThreadsAllocate", .host = {"fork_storm"}},
      {.name = "Exec", .host = {"exec_self"}, .traces = 2},
      {.name = "ExitInAThread", .host = {"exit_in_thread"}, .has_account = false},
      {.name = "UnderscoreExit", .host = {"dies", {"_exit"}}, .last_state = FileState::Open},
      {.name = "QuickExit", .host = {"dies", {"quick_exit"}}, .last_state = FileState::Open},
      {.name = "Abort", .host = {"dies", {"abort"}}, .last_state = FileState::Open},
      {.name = "UncaughtException", .host = {"dies", {"throw"}}, .last_state = FileState::Open},
      {.name = "SegmentationFault", .host = {"dies", {"segv"}}, .last_state = FileState::Open},
      {.name = "Terminated", .host = {"dies", {"term"}}, .last_state = FileState::Open},
      {.name = "Killed", .host = {"dies", {"kill"}}, .last_state = FileState::Open},
      {.name = "SpawnsPrograms", .host = {"spawn"}},
      {.name = "NeverTouchesCuda", .host = {"no_cuda"}, .traces = 0},
      {.name = "LooksUpNames", .host = {"looks_up"}, .traces = 0},
      {.name = "LinkedToTheDriver", .host = {"linked_driver"}},
      {.name = "OpensTheDriverByName", .host = {"dlopen_driver", {"names"}}},
      {.name = "OpensTheDriverByVersion", .host = {"dlopen_driver", {"versions"}}},
      {.name = "OpensTheDriverByNestedVersion", .host = {"dlopen_driver", {"nested"}}},
      {.name = "OpensTheRuntime", .host = {"dlopen_runtime"}},
      {.name = "FirstCallWhileALibraryIsOpened",
       .host = {"opens_at_once", {hosts + "/constructor_plugin.so"}},
       .last_state = FileState::Open,
       .traces = 100,
       .has_account = false},
      {.name = "OpensAPlugin", .host = {"opens_plugin", {hosts + "/plugin.so", "plain"}}},
      {.name = "PerThreadDefaultStream", .host = {"per_thread_stream"}},
      {.name = "CancelledAtTheFirstCall", .host = {"cancel", {"first"}}},
      {.name = "CancelledBetweenCalls", .host = {"cancel", {"deferred"}}},
      {.name = "CancelledAsynchronously", .host = {"cancel", {"asynchronous"}}},
      {.name = "SignalHandlerAllocates", .host = {"signals"}},
      {.name = "FreedByAnotherThread", .host = {"free_elsewhere"}},
      {.name = "BeforeMainAndAfterItsEnd", .host = {"early_and_late"}},
      {.name = "AllThreadsAtOnceFirst", .host = {"first_at_once"}},
      {.name = "SixtyFourThreads", .host = {"threads", {"64"}}},
      {.name = "ThreeThousandShortThreads", .host = {"threads", {"short"}}},
      {.name = "StdoutClosed", .host = {"closed_files", {"stdout"}}},
      {.name = "StderrClosed", .host = {"closed_files", {"stderr"}}},
      {.name = "StandardStreamsClosed", .host = {"closed_files", {"standard"}}},
      {.name = "AllFilesClosed", .host = {"closed_files", {"all"}}},
      {.name = "OwnMalloc", .host = {"own_malloc"}},
      {.name = "ThrowsAcross", .host = {"throws", {"throw"}}},
      {.name = "JumpsAcross", .host = {"throws", {"jump"}}},
      {.name = "EndsTheThreadAcross", .host = {"throws", {"end"}}},
      {.name = "MainThreadEnds", .host = {"main_thread_ends", {"soon"}}},
      {.name = "MainThreadEndsWhileAPlanIsSought", .host = {"main_thread_ends", {"planned"}}},
      {.name = "MovesAbout", .host = {"moves"}},
      {.name = "FileSizeLimited", .host = {"scarce", {"file_size"}}, .traces = 0},
      {.name = "NoFilesLeft", .host = {"scarce", {"files"}}, .traces = 0},
      {.name = "NoKeysLeft", .host = {"scarce", {"keys"}}},
      {.name = "NoKeysFromTheBeginning", .host = {"scarce", {"keys_first"}}},
      {.name = "SmallStack", .host = {"scarce", {"stack"}}},
  };
}

std::vector<How> ways() {
#ifdef HOSTS_COMMAND
  return {How::Preloaded, How::Observed, How::Everything, How::Command};
#else
  return {How::Preloaded, How::Observed, How::Everything};
#endif
}

std::string expected_out(const Hazard& hazard, const Ran& bare, How how) {
  std::string out = bare.outcome.out;
  std::size_t const at = how == How::Observed || hazard.told[0] == '\0' ? out.npos : out.find(hazard.told);
  return at == out.npos ? out : out.replace(at, strlen(hazard.told), hazard.told_if_served);
}

void expect_same(const Ran& bare, const Ran& with, const std::string& out) {
  EXPECT_EQ(out, with.outcome.out);
  EXPECT_EQ(bare.outcome.err, with.outcome.err);
  EXPECT_EQ(bare.outcome.exit_code, with.outcome.exit_code);
  EXPECT_EQ(bare.files, with.files);
}

bool used_pools(const trace::Trace& trace) {
  for (trace::Event const& event : ordered_events(trace))
    if (event.type == trace::Event::Type::Alloc && event.block_class == trace::Class::Pool) return true;
  return false;
}

void expect_account(const Account& account, const trace::Trace& trace) {
  Replay const all = replay(trace);
  std::uint64_t const lost = trace.lost_events();
  EXPECT_LE(lost, account.lost) << "events that the trace lacks";
  // Each event is in the trace or counted as lost, whichever it was.
  EXPECT_EQ(account.allocations + account.frees, all.allocations() + all.frees() + lost);
  if (lost != 0) return;
  EXPECT_EQ(account.allocations, all.allocations());
  EXPECT_EQ(account.frees, all.frees());
  EXPECT_EQ(account.live_bytes, all.live().bytes);
  // Pools may keep what is free, and the allocator does: exactly what it says.
  if (account.live_bytes == 0 && !used_pools(trace)) {
    bool const served = trace.header().mode == trace::Mode::Cache;
    std::string const& kept = trace.names().fact("cache.reserved_bytes");
    EXPECT_EQ(std::to_string(trace.header().totals.reserved_bytes), served && !kept.empty() ? kept : "0");
  }
}

class HostTest : public testing::TestWithParam<std::tuple<Hazard, How>> {};

TEST_P(HostTest, BehavesAsAloneAndIsRecorded) {
  auto const& [hazard, how] = GetParam();
  Ran const bare = run_host(hazard.host, How::Bare), with = run_host(hazard.host, how);
  SCOPED_TRACE("tidemark said: " + with.said);
  EXPECT_TRUE(bare.traces.empty());
  expect_same(bare, with, expected_out(hazard, bare, how));
  EXPECT_EQ(std::vector<std::string>{}, with.unreadable);
  ASSERT_EQ(hazard.traces, with.traces.size());
  for (trace::Trace const& trace : with.traces) {
    bool const exact = hazard.has_account && trace.lost_events() == 0;
    EXPECT_EQ(std::vector<std::string>{}, faults_of(trace, exact)) << trace.path();
  }
  if (hazard.traces == 0) return;
  EXPECT_EQ(hazard.last_state, with.traces.back().header().state);
  if (!hazard.has_account) return;
  ASSERT_EQ(hazard.traces, with.accounts.size());
  for (std::size_t i = 0; i < hazard.traces; ++i) expect_account(with.accounts[i], with.traces[i]);
}

std::string name_of(const testing::TestParamInfo<HostTest::ParamType>& test) {
  How const how = std::get<How>(test.param);
  return std::string(std::get<Hazard>(test.param).name) + (how == How::Command      ? "UnderRun"
                                                           : how == How::Observed   ? "Observed"
                                                           : how == How::Everything ? "WithEverything"
                                                                                    : "");
}
INSTANTIATE_TEST_SUITE_P(Hosts, HostTest, testing::Combine(testing::ValuesIn(hazards()), testing::ValuesIn(ways())),
                         name_of);

}  // namespace
}  // namespace tidemark::test
