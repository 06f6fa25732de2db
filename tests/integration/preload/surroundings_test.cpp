// SPDX-License-Identifier: Apache-2.0
// Hazards that lie around the program: a disk that fills up, a folder that cannot be written to, a limit, an endless
// command line, other preloaded libraries, another user's rights.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/preload/run_host.h"
#include "tests/support/replay.h"

namespace tidemark::test {
namespace {

namespace fs = std::filesystem;
using trace::FileState;

const std::string kTool = HOSTS_FOLDER "/other_tool.so";

void expect_same(const Ran& bare, const Ran& with) {
  EXPECT_EQ(bare.outcome.out, with.outcome.out);
  EXPECT_EQ(bare.outcome.err, with.outcome.err);
  EXPECT_EQ(bare.outcome.exit_code, with.outcome.exit_code);
}

// Every event is in the trace, or counted as lost; and the sums in the header, which need no space, go on.
void expect_counted(const Account& account, const trace::Trace& trace) {
  Replay const all = replay(trace);
  EXPECT_EQ(std::vector<std::string>{}, all.impossible());
  EXPECT_GT(trace.lost_events(), 0u);
  EXPECT_FALSE(trace.complete());
  EXPECT_EQ(account.allocations, trace.header().totals.allocations);
  EXPECT_EQ(account.frees, trace.header().totals.frees);
  EXPECT_GE(all.allocations() + all.frees() + trace.lost_events(), account.allocations + account.frees);
  EXPECT_EQ(trace.header().state, FileState::Stopped);
}

class SmallDisk {
 public:
  explicit SmallDisk(const char* size) : path_(fs::temp_directory_path() / ("disk-" + std::to_string(getpid()))) {
    fs::create_directory(path_);
    std::string const options = std::string("mode=777,size=") + size;
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool mounted_ = false;
};

TEST(Surroundings, ADiskThatFillsUpEndsTheRecordingNotTheProgram) {
  SmallDisk const disk("1536k");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk here";
  Host const host{.name = "plain", .arguments = {"60000"}, .out = disk.path() / "full.tide"};
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  expect_same(bare, with);
  auto const trace = trace::Trace::open(disk.path() / "full.tide");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  ASSERT_EQ(with.accounts.size(), 1u);
  expect_counted(with.accounts[0], *trace);
}

TEST(Surroundings, ADiskThatIsFullFromTheBeginningIsSaidOnce) {
  SmallDisk const disk("256k");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk here";
  Host const host{.name = "plain", .arguments = {"100"}, .out = disk.path() / "full.tide"};
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  expect_same(bare, with);
  EXPECT_FALSE(fs::exists(disk.path() / "full.tide")) << "what could not be begun is not left behind";
  EXPECT_NE(with.said.find("no space for a trace"), std::string::npos) << with.said;
  EXPECT_NE(with.said.find("hint: "), std::string::npos) << with.said;
}

TEST(Surroundings, AFolderThatIsNotThereOrIsAFileIsSaidOnce) {
  for (const char* const out : {"nowhere/at/all.tide", "/dev/null/x.tide", "/proc/x.tide"}) {
    Host const host{.name = "plain", .arguments = {"10"}, .out = out};
    Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
    expect_same(bare, with);
    EXPECT_TRUE(with.traces.empty());
    EXPECT_NE(with.said.find(out), std::string::npos) << with.said;
    EXPECT_EQ(with.said.find("error"), with.said.rfind("error")) << with.said;
  }
}

TEST(Surroundings, AFolderWithoutTheRightToWriteIsSaidOnce) {
  fs::path const folder = fs::temp_directory_path() / ("locked-" + std::to_string(getpid()));
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  Host host{.name = "plain", .arguments = {"10"}, .out = folder / "x.tide"};
  // Nothing is forbidden to root.
  if (geteuid() == 0) {
    host.launcher = HOSTS_FOLDER "/as_nobody";
  }
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  fs::remove_all(folder);
  expect_same(bare, with);
  EXPECT_EQ(bare.outcome.exit_code, 0) << bare.outcome.err;
  EXPECT_NE(with.said.find("Permission denied"), std::string::npos) << with.said;
}

TEST(Surroundings, ALimitOnTheSizeOfFilesEndsTheRecordingNotTheProgram) {
  for (const char* const when : {"file_size_later", "file_size_lowered"}) {
    Host const host{.name = "scarce", .arguments = {when}};
    Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
    expect_same(bare, with);
    EXPECT_EQ(bare.outcome.exit_code, 0);
    ASSERT_EQ(with.traces.size(), 1u);
    ASSERT_EQ(with.accounts.size(), 1u);
    expect_counted(with.accounts[0], with.traces[0]);
  }
}

TEST(Surroundings, AnEndlessCommandLineIsKeptWhole) {
  Host host{.name = "plain", .arguments = {"1"}};
  std::string expected = "[\"" HOSTS_FOLDER "/plain\",\"1\"";
  for (int i = 0; i < 15; ++i) {
    host.arguments.push_back(std::string(100'000, static_cast<char>('a' + i)) + "\"\\\n\xff\xc3\xa4");
    expected += ",\"" + std::string(100'000, static_cast<char>('a' + i)) + "\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\"";
  }
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  expect_same(bare, with);
  ASSERT_EQ(with.traces.size(), 1u);
  EXPECT_EQ(with.traces[0].names().fact("program.command"), expected + "]");
  EXPECT_EQ(with.traces[0].lost_events(), 0u);
}

TEST(Surroundings, ANameThatIsTakenIsNotOverwritten) {
  fs::path const folder = fs::temp_directory_path() / ("taken-" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "x.tide") << "mine";
  Host const host{.name = "plain", .out = folder / "x.tide"};
  Ran const with = run_host(host, How::Preloaded);
  std::string mine;
  std::ifstream(folder / "x.tide") >> mine;
  std::size_t files = 0;
  for ([[maybe_unused]] auto const& entry : fs::directory_iterator(folder)) ++files;
  fs::remove_all(folder);
  EXPECT_EQ(with.outcome.exit_code, 0);
  EXPECT_EQ(mine, "mine");
  EXPECT_EQ(files, 2u);
}

TEST(Surroundings, WrongSettingsAreSaidAndLeaveTheProgramAlone) {
  for (const char* const setting :
       {"TIDEMARK_MODE=fast", "TIDEMARK_LIMIT=much", "TIDEMARK_RING=-1", "TIDEMARK_STACKS=perhaps"}) {
    Host const host{.name = "plain", .environment = {setting}};
    Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
    expect_same(bare, with);
    EXPECT_TRUE(with.traces.empty());
    std::string const name = std::string(setting).substr(0, std::string(setting).find('='));
    EXPECT_NE(with.said.find(name), std::string::npos) << with.said;
  }
}

// Bound to its own libraries first, the plug-in calls nothing that a preloaded library can stand before.
TEST(Surroundings, APluginWithDeepBindingIsUnharmedAndUnseen) {
  Host const host{.name = "opens_plugin", .arguments = {HOSTS_FOLDER "/plugin.so", "deepbind"}};
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  expect_same(bare, with);
  EXPECT_TRUE(with.traces.empty());
}

struct Neighbour {
  const char* name;
  std::vector<std::string> arguments;
};
class WithAnotherTool : public testing::TestWithParam<std::tuple<Neighbour, bool>> {};

// What the tool itself says at the end.
std::string take_out_tool(std::string& out) {
  std::size_t const at = out.find("tool: ");
  std::string const said = at == std::string::npos ? "" : out.substr(at);
  out.resize(std::min(at, out.size()));
  return said;
}

TEST_P(WithAnotherTool, TheProgramIsUnharmedAndTheTraceWhole) {
  auto const& [client, in_front] = GetParam();
  Host host{.name = client.name, .arguments = client.arguments};
  (in_front ? host.preload_before : host.preload_after) = kTool;
  Ran bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  std::string const alone = take_out_tool(bare.outcome.out), together = take_out_tool(with.outcome.out);
  expect_same(bare, with);
  EXPECT_NE(alone, "");
  // In front of us it sees what it sees alone. Behind us it is passed by where we answer: we take CUDA's functions from
  // CUDA's own libraries, since what stands next may be a framework's stub that comes back to us.
  if (in_front) {
    EXPECT_EQ(alone, together);
  }
  ASSERT_EQ(with.traces.size(), 1u);
  ASSERT_EQ(with.accounts.size(), 1u);
  EXPECT_EQ(std::vector<std::string>{}, faults_of(with.traces[0], true));
  EXPECT_EQ(with.accounts[0].allocations, replay(with.traces[0]).allocations());
  EXPECT_EQ(with.accounts[0].frees, replay(with.traces[0]).frees());
}

INSTANTIATE_TEST_SUITE_P(
    Tools, WithAnotherTool,
    testing::Combine(testing::Values(Neighbour{"plain", {"50"}}, Neighbour{"linked_driver", {}},
                                     Neighbour{"dlopen_driver", {"names"}}, Neighbour{"dlopen_driver", {"versions"}},
                                     Neighbour{"dlopen_runtime", {}}, Neighbour{"per_thread_stream", {}}),
                     testing::Bool()),
    [](const auto& test) {
      Neighbour const& client = std::get<0>(test.param);
      return std::string(client.name) + (client.arguments.empty() ? "" : "_" + client.arguments[0]) +
             (std::get<1>(test.param) ? "_behind_it" : "_in_front_of_it");
    });

#ifdef HOSTS_COMMAND
TEST(Surroundings, UnderRunAToolOfTheUsersStandsInFrontOfUs) {
  Host const host{.name = "linked_driver", .preload_before = kTool};
  Ran bare = run_host(host, How::Bare), with = run_host(host, How::Command);
  std::string const alone = take_out_tool(bare.outcome.out);
  // The command is itself a program with that tool, which speaks at its end too.
  EXPECT_TRUE(take_out_tool(with.outcome.out).starts_with(alone)) << alone;
  expect_same(bare, with);
  ASSERT_EQ(with.traces.size(), 1u);
  EXPECT_EQ(with.accounts.at(0).allocations, replay(with.traces[0]).allocations());
}
#endif

// The system ignores preloaded libraries in a program with another user's rights.
TEST(Surroundings, AProgramWithAnotherUsersRightsIsUnharmedAndUnseen) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make such a program";
  fs::path const folder = fs::temp_directory_path() / ("rights-" + std::to_string(getpid()));
  fs::path const program = folder / "plain";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::all);
  fs::copy_file(HOSTS_FOLDER "/plain_own_rights", program);
  chmod(program.c_str(), 04755);
  Host const host{.name = "as_nobody", .arguments = {program, "5"}};
  Ran const bare = run_host(host, How::Bare), with = run_host(host, How::Preloaded);
  fs::remove_all(folder);
  if (bare.outcome.out.find("rights of 0") == std::string::npos) GTEST_SKIP() << "no such rights on this file system";
  expect_same(bare, with);
  EXPECT_EQ(bare.outcome.exit_code, 0) << bare.outcome.err;
  EXPECT_TRUE(with.traces.empty());
}

}  // namespace
}  // namespace tidemark::test
