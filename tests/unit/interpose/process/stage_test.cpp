// SPDX-License-Identifier: Apache-2.0
// The stage is the process's, and goes one way only: each test has a process of its own.
#include "interpose/process/stage.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "interpose/process/shield.h"

namespace tidemark::interpose {
namespace {

// How a child ends that calls `act`; it has not touched the stage before.
template <class Act>
int in_child(Act act) {
  pid_t const child = fork();
  if (child == 0) {
    int const null = dup(STDERR_FILENO);
    (void)null;
    close(STDERR_FILENO);
    _exit(act() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// The same for a child of a child.
template <class Act>
bool holds_in_child(Act act) {
  return in_child(act) == 0;
}

TEST(Stage, IsIdleUntilSomebodyStarts) {
  EXPECT_EQ(in_child([] {
              bool well = !recording();
              well = well && begin_start() && !recording();
              started(true);
              return well && recording() && !begin_start();
            }),
            0);
}

TEST(Stage, AStartThatFailedIsForGood) {
  EXPECT_EQ(in_child([] {
              begin_start();
              started(false);
              return !recording() && !begin_start();
            }),
            0);
}

TEST(Stage, OneOfManyThreadsStartsAndTheOthersWaitForIt) {
  EXPECT_EQ(in_child([] {
              std::atomic<int> starters{0}, recorded{0};
              std::vector<std::thread> threads;
              for (int i = 0; i < 8; ++i)
                threads.emplace_back([&] {
                  if (begin_start()) {
                    ++starters;
                    usleep(20'000);
                    started(true);
                  }
                  recorded += recording() ? 1 : 0;
                });
              for (std::thread& thread : threads) thread.join();
              return starters == 1 && recorded == 8;
            }),
            0);
}

TEST(Stage, AChildOfARecordingProcessIsPassiveAndItsParentIsNot) {
  EXPECT_EQ(in_child([] {
              begin_start();
              started(true);
              bool const passive = holds_in_child([] { return !recording() && !begin_start(); });
              return passive && recording();
            }),
            0);
}

TEST(Stage, AChildWithoutTheCLibrarysKnowledgeIsPassiveToo) {
  EXPECT_EQ(in_child([] {
              begin_start();
              started(true);
              pid_t const child = static_cast<pid_t>(syscall(SYS_fork));
              if (child == 0) _exit(recording() ? 1 : 0);
              int status = -1;
              waitpid(child, &status, 0);
              return status == 0 && recording();
            }),
            0);
}

TEST(Stage, AChildForkedInTheMiddleOfAStartDoesNotWaitForIt) {
  EXPECT_EQ(in_child([] {
              begin_start();  // and never ends, in the child
              bool const passive = holds_in_child([] { return !begin_start() && !recording(); });
              started(true);
              return passive && recording();
            }),
            0);
}

TEST(Stage, AChildForkedBeforeTheStartMakesItsOwn) {
  EXPECT_EQ(in_child([] {
              bool const starts = holds_in_child([] {
                bool const mine = begin_start();
                started(true);
                return mine && recording();
              });
              return starts && !recording();
            }),
            0);
}

TEST(Stage, GoingPassiveIsForGood) {
  EXPECT_EQ(in_child([] {
              go_passive("before anything began");
              begin_start();
              started(true);
              go_passive("for a reason");
              go_passive("for another");
              started(true);
              return !recording();
            }),
            0);
}

TEST(Shield, KeepsErrnoAndStopsWhatIsThrown) {
  EXPECT_EQ(in_child([] {
              begin_start();
              started(true);
              errno = 77;
              bool const ran = shield([] {
                errno = 5;
                throw 1;
              });
              return ran && errno == 77 && !recording() && !this_thread().inside;
            }),
            0);
}

TEST(Shield, IsNotEnteredTwiceByOneThread) {
  bool inner = true, again = false;
  shield([&] { inner = shield([] {}); });
  again = shield([] {});
  EXPECT_FALSE(inner);
  EXPECT_TRUE(again);
}

TEST(Shield, LetsAThreadEndInsideIt) {
  pthread_t thread;
  bool inside = true;
  pthread_create(
      &thread, nullptr,
      [](void* out) -> void* {
        struct Look {
          bool* out;
          ~Look() { *out = this_thread().inside; }
        } const look{static_cast<bool*>(out)};
        shield([] { pthread_exit(nullptr); });
        return nullptr;
      },
      &inside);
  pthread_join(thread, nullptr);
  EXPECT_FALSE(inside);
}

}  // namespace
}  // namespace tidemark::interpose
