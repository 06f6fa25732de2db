// SPDX-License-Identifier: Apache-2.0
#include "trace/write/kept_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

TEST(KeptFile, LeavesTheLowNumbersToTheProgram) {
  Folder const folder;
  int const lowest = open("/dev/null", O_RDONLY);
  close(lowest);
  KeptFile file;
  ASSERT_TRUE(file.create(folder.file("a").c_str()));
  EXPECT_GE(file.number(), 200);
  int const next = open("/dev/null", O_RDONLY);
  EXPECT_EQ(next, lowest);
  close(next);
  file.discard();
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
}

TEST(KeptFile, IsNotClosedByAChildProgram) {
  Folder const folder;
  KeptFile file;
  ASSERT_TRUE(file.create(folder.file("a").c_str()));
  EXPECT_EQ(fcntl(file.number(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(KeptFile, IsOpenedAgainWhereTheProgramClosedIt) {
  Folder const folder;
  KeptFile file;
  ASSERT_TRUE(file.create(folder.file("a").c_str()));
  close(file.number());
  int const again = file.number();
  ASSERT_GE(again, 0);
  EXPECT_EQ(write(again, "abc", 3), 3);
  EXPECT_EQ(std::filesystem::file_size(folder.file("a")), 3u);
}

TEST(KeptFile, LeavesAFileAloneThatTookItsNumber) {
  Folder const folder;
  KeptFile file;
  ASSERT_TRUE(file.create(folder.file("ours").c_str()));
  int const number = file.number();
  int const theirs = open(folder.file("theirs").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(dup2(theirs, number), number);
  int const again = file.number();
  EXPECT_NE(again, number);
  EXPECT_EQ(write(again, "abc", 3), 3);
  EXPECT_EQ(std::filesystem::file_size(folder.file("theirs")), 0u);
  EXPECT_EQ(fcntl(number, F_GETFD) & FD_CLOEXEC, 0) << "the program's number was touched";
  close(number);
  close(theirs);
}

TEST(KeptFile, IsFoundFromAnyFolder) {
  Folder const folder, elsewhere;
  std::filesystem::path const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  KeptFile file;
  bool const created = file.create("relative");
  std::filesystem::current_path(elsewhere.file(""));
  close(file.number());
  int const again = file.number();
  std::filesystem::current_path(before);
  EXPECT_TRUE(created);
  EXPECT_GE(again, 0);
}

TEST(KeptFile, IsLostWithItsNumberAndItsName) {
  Folder const folder;
  KeptFile file;
  ASSERT_TRUE(file.create(folder.file("a").c_str()));
  int const mapped = dup(file.number());  // a trace's mappings keep its file
  close(file.number());
  unlink(folder.file("a").c_str());
  std::ofstream(folder.file("a")) << "another file of that name";
  EXPECT_EQ(file.number(), -1);
  close(mapped);
}

// In a process of its own: it closes its standard streams.
TEST(KeptFile, NeverStandsWhereTheStandardStreamsWere) {
  Folder const folder;
  std::string const path = folder.file("a");
  pid_t const child = fork();
  if (child == 0) {
    for (int const stream : {0, 1, 2}) close(stream);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    KeptFile usual, nowhere;
    bool const high = usual.create((path + "1").c_str()) && usual.number() > 2;
    limit.rlim_cur = 3;  // no number is left but those three
    setrlimit(RLIMIT_NOFILE, &limit);
    bool const refused =
        !nowhere.create((path + "2").c_str()) && errno == EMFILE && access((path + "2").c_str(), F_OK) != 0;
    _exit(high && refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tidemark::trace
