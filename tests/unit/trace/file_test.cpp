// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

TEST(TraceFile, IsForItsOwnerOnly) {
  Folder const folder;
  File& file = make_file(folder.file("a.tide"));
  struct stat info {};
  ASSERT_EQ(stat(file.path(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(TraceFile, NeverOverwrites) {
  Folder const folder;
  std::ofstream(folder.file("a.tide")) << "mine";
  File file;
  auto const made = file.create({.path = folder.file("a.tide")});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().what.find("a.tide"), std::string::npos);
  EXPECT_FALSE(made.error().hint.empty());
}

TEST(TraceFile, HeaderSaysWhoAndWhen) {
  Folder const folder;
  File& file = make_file(folder.file("a.tide"));
  file.close(FileState::Closed);
  Trace const trace = read_back(file.path());
  EXPECT_EQ(trace.header().pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(trace.header().state, FileState::Closed);
  EXPECT_TRUE(trace.complete());
  EXPECT_EQ(std::filesystem::file_size(file.path()), kChunkBytes) << "space that was not used goes back";
}

TEST(TraceFile, TimeIsThatOfTheMonotonicClock) {
  for (Clock const clock : {Clock::pick(), Clock::monotonic()}) {
    Folder const folder;
    File& file = make_file(folder.file("a.tide"), clock);
    while (monotonic_now_ns() - file.header().begin.monotonic_ns < 12'000'000) {
    }
    file.close(FileState::Closed);
    Trace const trace = read_back(file.path());
    ClockPair const begin = trace.header().begin, latest = trace.header().latest;
    EXPECT_NEAR(static_cast<double>(trace.nanoseconds(latest.ticks)),
                static_cast<double>(latest.monotonic_ns - begin.monotonic_ns), 2.0);
    EXPECT_EQ(trace.nanoseconds(begin.ticks - 5), 0u);
  }
}

TEST(TraceFile, AKilledProgramsTraceOpensUpToItsLastEvent) {
  Folder const folder;
  std::string const path = folder.file("a.tide");
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  pid_t const child = fork();
  if (child == 0) {
    File& file = make_file(path);
    Lane lane;
    lane.start(file, 1);
    for (std::uint64_t i = 1; i <= 10'000; ++i) lane.alloc({.address = i << 9, .size_bytes = i});
    [[maybe_unused]] auto const told = write(go[1], "x", 1);
    pause();
    _exit(0);
  }
  char c;
  ASSERT_EQ(read(go[0], &c, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Trace const trace = read_back(path);
  EXPECT_FALSE(trace.complete());
  auto const events = all_events(trace);
  ASSERT_EQ(events.size(), 10'000u);
  EXPECT_EQ(events.back().size_bytes, 10'000u);
  close(go[0]);
  close(go[1]);
}

// In a child, since the limit cannot be taken back and its signal would end the test.
TEST(TraceFile, ALimitOnFileSizesEndsRecordingNotTheProgram) {
  Folder const folder;
  std::string const path = folder.file("a.tide");
  pid_t const child = fork();
  if (child == 0) {
    rlimit const limit{2 << 20, 2 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    File& file = make_file(path);
    Lane lane;
    lane.start(file, 1);
    for (std::uint64_t i = 1; i <= 200'000; ++i) lane.alloc({.address = i << 9, .size_bytes = i});
    file.close(FileState::Closed);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  Trace const trace = read_back(path);
  EXPECT_EQ(trace.header().state, FileState::Stopped);
  EXPECT_FALSE(trace.complete());
  EXPECT_EQ(all_events(trace).size() + trace.header().lost[static_cast<std::size_t>(Loss::NoSpace)], 200'000u);
  EXPECT_LE(std::filesystem::file_size(path), 2u << 20);
}

TEST(TraceFile, NoPlaceIsAnErrorWithAWayOut) {
  File file;
  auto const made = file.create({.path = "/nonexistent/folder/a.tide"});
  ASSERT_FALSE(made.ok());
  EXPECT_FALSE(made.error().hint.empty());
}

}  // namespace
}  // namespace tidemark::trace
