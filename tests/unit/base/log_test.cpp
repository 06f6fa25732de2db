// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace tidemark {
namespace {

std::string captured(void (*act)()) {
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

TEST(Say, WritesWhoAndWhatOnOneLine) {
  EXPECT_EQ(captured([] { say("softgpu", "dry run"); }), "softgpu: dry run\n");
}

TEST(Say, LinesOfManyThreadsStayWhole) {
  auto const text = captured([] {
    std::vector<std::thread> threads;
    for (char c = 'a'; c < 'i'; ++c)
      threads.emplace_back([c] {
        for (int i = 0; i < 50; ++i) say("t", std::string(100, c));
      });
    for (auto& t : threads) t.join();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 400);
  for (std::size_t at = 0; at < text.size(); at += 104) {
    EXPECT_EQ(text.substr(at, 3), "t: ");
    EXPECT_EQ(text.substr(at + 3, 100), std::string(100, text[at + 3]));
  }
}

TEST(SayOnce, SpeaksOncePerKey) {
  EXPECT_EQ(captured([] {
              EXPECT_TRUE(say_once("log_test/a", "x", "first"));
              EXPECT_FALSE(say_once("log_test/a", "x", "second"));
              EXPECT_TRUE(say_once("log_test/b", "x", "third"));
            }),
            "x: first\nx: third\n");
}

// Runs `act` in a child whose stderr is `fd`; returns how the child ended.
int end_of_child_with_stderr(int fd, void (*act)()) {
  pid_t const child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    dup2(fd, STDERR_FILENO);
    act();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Say, ABrokenPipeLosesTheLineNotTheProgram) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  int const status = end_of_child_with_stderr(ends[1], [] {
    say("x", "into the void");
    say("x", "and again");
  });
  close(ends[1]);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
}

TEST(Say, LeavesAProgramsOwnBrokenPipeSignalAlone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  int const status = end_of_child_with_stderr(ends[1], [] {
    say("x", "lost");
    char const byte = 0;
    (void)!write(STDERR_FILENO, &byte, 1);  // the program's own write must still be answered by SIGPIPE
  });
  close(ends[1]);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(Say, KeepsErrno) {
  int const status = end_of_child_with_stderr(-1, [] {
    close(STDERR_FILENO);
    errno = ENOENT;
    say("x", "nowhere to go");
    if (errno != ENOENT) _exit(1);
  });
  EXPECT_EQ(status, 0);
}

TEST(Say, AFullDiskLosesTheLineNotTheProgram) {
  int const full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(end_of_child_with_stderr(full, [] { say("x", "no room"); }), 0);
  close(full);
}

TEST(Say, AFileAtItsLargestLosesTheLineNotTheProgram) {
  FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(end_of_child_with_stderr(fileno(file),
                                     [] {
                                       signal(SIGXFSZ, SIG_DFL);
                                       rlimit const none{.rlim_cur = 0, .rlim_max = 0};
                                       setrlimit(RLIMIT_FSIZE, &none);
                                       say("x", "too long");
                                       say("x", "and again");
                                     }),
            0);
  std::fclose(file);
}

TEST(Say, IsNoPlaceForAThreadToBeCancelled) {
  EXPECT_EQ(captured([] {
              std::thread([] {
                pthread_cancel(pthread_self());
                say("x", "still here");
                pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
                say("x", "and here");
              }).join();
            }),
            "x: still here\nx: and here\n");
}

TEST(Say, KeepsOutOfAFileThatTookTheNumberOfStderr) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int const status = end_of_child_with_stderr(ends[1], [] {
    keep_to_stderr();
    say("x", "heard");
    close(STDERR_FILENO);
    FILE* const data = std::tmpfile();
    if (data == nullptr || fileno(data) != STDERR_FILENO) _exit(1);
    say("x", "not into the program's data");
    if (lseek(STDERR_FILENO, 0, SEEK_END) != 0) _exit(2);
  });
  close(ends[1]);
  EXPECT_EQ(status, 0);
  std::string heard(100, ' ');
  heard.resize(static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], heard.data(), heard.size()), 0)));
  EXPECT_EQ(heard, "x: heard\n");
  close(ends[0]);
}

TEST(Say, IsSilentWhereThereWasNoStderr) {
  int const status = end_of_child_with_stderr(-1, [] {
    close(STDERR_FILENO);
    keep_to_stderr();
    FILE* const data = std::tmpfile();
    if (data == nullptr || fileno(data) != STDERR_FILENO) _exit(1);
    say("x", "nobody asked");
    if (lseek(STDERR_FILENO, 0, SEEK_END) != 0) _exit(2);
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tidemark
