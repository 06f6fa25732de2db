// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tidemark::analysis {
namespace {

struct Table {
  std::string path = std::filesystem::temp_directory_path() / ("replay_test-" + std::to_string(::getpid()) + ".csv");
  explicit Table(const std::string& text) { std::ofstream(path) << text; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { std::filesystem::remove(path); }
};

Lifetimes recorded(const std::string& name) {
  auto read = read_lifetimes(std::string(TIDEMARK_TEST_DATA) + "/torch-snapshots/" + name + ".csv.gz");
  EXPECT_TRUE(read.ok()) << read.error().what;
  return std::move(read).value();
}

double ratio(const Lifetimes& lifetimes, const char* allocator) {
  auto const result = replay(lifetimes, {.allocator = allocator});
  EXPECT_TRUE(result.ok());
  return result->ratio();
}

TEST(Lifetimes, ATableGivesBlocksAndTheirPeak) {
  Table const table("op,id,bytes,stream,t_us\nb,7,1000,0,0\na,8,512,0,1\nr,8,512,0,2\nf,8,512,0,3\nf,99,1,0,4\n");
  auto const lifetimes = read_lifetimes(table.path);
  ASSERT_TRUE(lifetimes.ok()) << lifetimes.error().what;
  EXPECT_EQ(lifetimes->bytes, (std::vector<std::uint64_t>{1000, 512}));
  EXPECT_EQ(lifetimes->operations.size(), 3u);
  EXPECT_EQ(lifetimes->peak_live_bytes(), 1536u);
}

TEST(Lifetimes, WhatIsNoTableIsRefusedWithTheLine) {
  EXPECT_FALSE(read_lifetimes("/nowhere.csv").ok());
  EXPECT_FALSE(read_lifetimes(Table("hello\n").path).ok());
  Table const table("op,id,bytes,stream,t_us\na,1,512,0,0\nx,2,1,0,0\n");
  auto const lifetimes = read_lifetimes(table.path);
  ASSERT_FALSE(lifetimes.ok());
  EXPECT_NE(lifetimes.error().what.find(":3:"), std::string::npos) << lifetimes.error().what;
}

TEST(Replay, TheIdealReservesWhatIsLive) {
  EXPECT_DOUBLE_EQ(ratio(recorded("niu_fwdbwd_100"), "ideal"), 1.0);
}

// What the snapshots themselves say that PyTorch had reserved.
TEST(Replay, PytorchsRulesGiveWhatPytorchRecorded) {
  EXPECT_NEAR(ratio(recorded("niu_fwdbwd_100"), "pytorch"), 1.152, 0.0005);
  EXPECT_NEAR(ratio(recorded("niu_fwdbwd_200_amp"), "pytorch"), 1.234, 0.0005);
  EXPECT_NEAR(ratio(recorded("niu_fwdbwd_100"), "expandable"), 1.090, 0.001);
  EXPECT_NEAR(ratio(recorded("niu_fwdbwd_200_amp"), "expandable"), 1.095, 0.001);
  EXPECT_NEAR(ratio(recorded("wedsonlin_medium_128_training"), "expandable"), 1.009, 0.001);
}

TEST(Replay, TheFirstIterationsOfRecordedRunsFitCloselyWithoutAPlan) {
  EXPECT_LE(ratio(recorded("niu_fwdbwd_100"), "tidemark"), 1.05);
  EXPECT_LE(ratio(recorded("niu_fwdbwd_200_amp"), "tidemark"), 1.05);
  EXPECT_LE(ratio(recorded("wedsonlin_medium_128_training"), "tidemark"), 1.02) << "more than 4 GiB";
}

TEST(Replay, ALoopIsServedFromItsPlanWithLittleMoreThanWhatIsLive) {
  for (const char* const name : {"niu_fwdbwd_100", "niu_fwdbwd_200_amp", "wedsonlin_medium_128_training"}) {
    auto const result = replay(recorded(name), {.allocator = "tidemark", .repetitions = 8});
    ASSERT_TRUE(result.ok());
    EXPECT_LE(result->steady_ratio(), 1.02) << name;
    EXPECT_LE(result->ratio(), 1.05) << name << ", the switch included";
    EXPECT_EQ(result->steady_driver_calls, 0u) << name;
  }
}

TEST(Replay, RepetitionsAreCountedApart) {
  Table const table("op,id,bytes,stream,t_us\na,1,4000000,0,0\na,2,9000000,0,1\nf,1,0,0,2\n");
  auto const lifetimes = read_lifetimes(table.path);
  ASSERT_TRUE(lifetimes.ok());
  auto const result = replay(*lifetimes, {.allocator = "tidemark", .repetitions = 5});
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->driver_calls, 0u);
  EXPECT_EQ(result->steady_driver_calls, 0u);
  EXPECT_FALSE(replay(*lifetimes, {.allocator = "nobody"}).ok());
}

}  // namespace
}  // namespace tidemark::analysis
