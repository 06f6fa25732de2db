// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/ledger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace tidemark::softgpu {
namespace {

using namespace tidemark::literals;

std::string unique_name(const char* what) {
  return std::string("test-") + what + "-" + std::to_string(::getpid());
}

std::string path_of(const std::string& share) {
  return "/dev/shm/softgpu-" + std::to_string(::getuid()) + "-" + share + "-0";
}

// Runs in a child that shares nothing but the file, and waits until it has said so.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      body();
      char const byte = 1;
      (void)!::write(ready[1], &byte, 1);
      ::pause();
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
  }
  ~Child() {
    if (pid_ != 0) kill();
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(Ledger, PrivateOneChargesUpToItsCapacity) {
  auto ledger = std::move(*Ledger::open(10_MiB, "", 0));
  EXPECT_TRUE(ledger->charge((10_MiB).n));
  EXPECT_FALSE(ledger->charge(1));
  ledger->release((4_MiB).n);
  EXPECT_TRUE(ledger->charge((4_MiB).n));
  EXPECT_EQ(ledger->usage().used_bytes, (10_MiB).n);
  EXPECT_EQ(ledger->usage().process_bytes, (10_MiB).n);
}

TEST(Ledger, OverflowingChargesAreRefused) {
  auto ledger = std::move(*Ledger::open(10_MiB, "", 0));
  ASSERT_TRUE(ledger->charge((1_MiB).n));
  EXPECT_FALSE(ledger->charge(~std::uint64_t{0}));
  EXPECT_FALSE(ledger->charge(~std::uint64_t{0} - (1_MiB).n + 1));
  EXPECT_EQ(ledger->usage().used_bytes, (1_MiB).n);
}

TEST(Ledger, TwoProcessesShareOneCapacityAndSeeEachOther) {
  std::string const share = unique_name("two");
  auto mine = std::move(*Ledger::open(10_MiB, share, 0));
  ASSERT_TRUE(mine->charge((3_MiB).n));
  Child child([&] {
    auto* const theirs = std::move(*Ledger::open(10_MiB, share, 0)).release();
    if (!theirs->charge((5_MiB).n) || theirs->charge((3_MiB).n)) ::_exit(1);
  });
  EXPECT_EQ(mine->usage().used_bytes, (8_MiB).n);
  EXPECT_EQ(mine->usage().process_bytes, (3_MiB).n);
  EXPECT_FALSE(mine->charge((3_MiB).n));
  EXPECT_TRUE(mine->charge((2_MiB).n));
  auto const list = mine->processes();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].pid == child.pid() || list[1].pid == child.pid());
}

TEST(Ledger, AKilledProcessGivesItsShareBack) {
  std::string const share = unique_name("killed");
  auto mine = std::move(*Ledger::open(10_MiB, share, 0));
  Child child([&] { (void)std::move(*Ledger::open(10_MiB, share, 0)).release()->charge((9_MiB).n); });
  EXPECT_FALSE(mine->charge((2_MiB).n));
  child.kill();
  EXPECT_TRUE(mine->charge((10_MiB).n));
  EXPECT_EQ(mine->processes().size(), 1u);
}

TEST(Ledger, AProcessKilledInTheMiddleOfAChargeLeavesTheLockUsable) {
  std::string const share = unique_name("middle");
  auto mine = std::move(*Ledger::open(10_MiB, share, 0));
  for (int i = 0; i < 20; ++i) {
    Child child([&] {
      auto* const theirs = std::move(*Ledger::open(10_MiB, share, 0)).release();
      std::thread([theirs] {
        for (;;)
          if (theirs->charge(1)) theirs->release(1);
      }).detach();
    });
    ::usleep(2000);
    child.kill();
    ASSERT_TRUE(mine->charge((10_MiB).n)) << "round " << i;
    mine->release((10_MiB).n);
  }
}

TEST(Ledger, TheFileGoesWithTheLastProcess) {
  std::string const share = unique_name("file");
  {
    auto ledger = std::move(*Ledger::open(10_MiB, share, 0));
    EXPECT_TRUE(std::filesystem::exists(path_of(share)));
  }
  EXPECT_FALSE(std::filesystem::exists(path_of(share)));
}

TEST(Ledger, AnotherCapacityUnderTheSameNameIsRefusedWithAReason) {
  std::string const share = unique_name("capacity");
  auto first = std::move(*Ledger::open(10_MiB, share, 0));
  auto const second = Ledger::open(11_MiB, share, 0);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().what.find("10.00 MiB"), std::string::npos);
}

TEST(Ledger, ThreadsThatAreLateFindItClosed) {
  // At the end of a process other threads may still be inside a call.
  std::string const name = unique_name("closed");
  auto ledger = Ledger::open(100_MiB, name, 0);
  ASSERT_TRUE(ledger.ok());
  ASSERT_TRUE((*ledger)->charge(10));
  (*ledger)->leave();
  EXPECT_FALSE((*ledger)->charge(10));
  (*ledger)->release(10);
  EXPECT_EQ((*ledger)->usage().process_bytes, 0u);
}

TEST(Ledger, AProcessKilledWhileItMadeTheFileLeavesItUsable) {
  std::string const name = unique_name("half-made");
  auto const size = [&] {
    auto const made = Ledger::open(100_MiB, name, 0);
    return std::filesystem::file_size(path_of(name));
  }();
  std::ofstream(path_of(name)).close();
  std::filesystem::resize_file(path_of(name), size);  // as long as it should be, and nothing in it yet
  auto ledger = Ledger::open(100_MiB, name, 0);
  ASSERT_TRUE(ledger.ok()) << ledger.error().what;
  EXPECT_TRUE((*ledger)->charge(10));
}

TEST(Ledger, ANameWithASlashIsRefused) {
  EXPECT_FALSE(Ledger::open(10_MiB, "../x", 0).ok());
}

}  // namespace
}  // namespace tidemark::softgpu
