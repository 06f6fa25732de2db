// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/softgpu/kernel/bodies/types.h"
#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

// A switch of stacks costs microseconds under ThreadSanitizer.
constexpr int kRepeats = kSanitized ? 1 : 10;

TEST(Barrier, ReductionIsRightForEveryBlockSize) {
  for (unsigned threads : {1u, 2u, 31u, 32u, 33u, 100u, 256u, 777u, 1024u}) {
    int const n = static_cast<int>(threads * 5 - 3);
    std::vector<unsigned long long> in(n), out(5);
    std::iota(in.begin(), in.end(), 1ull);
    const unsigned long long* pin = in.data();
    Shape const shape{.grid = {5, 1, 1}, .block = {threads, 1, 1}};
    ASSERT_EQ(launch("block_sum<unsigned long long>", shape, pin, out.data(), n), SOFTGPU_KERNEL_OK);
    for (unsigned b = 0; b < 5; ++b) {
      auto const first = in.begin() + std::min<int>(n, static_cast<int>(b * threads));
      auto const last = in.begin() + std::min<int>(n, static_cast<int>((b + 1) * threads));
      ASSERT_EQ(out[b], std::accumulate(first, last, 0ull)) << threads << " threads, block " << b;
    }
  }
}

TEST(Barrier, BlocksRunInParallelOnFourThreads) {
  constexpr unsigned kBlocks = 200, kThreads = 96;
  std::vector<float> in(kBlocks * kThreads), out(kBlocks);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1000);
  const float* pin = in.data();
  Shape const shape{.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}, .os_threads = 4};
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::fill(out.begin(), out.end(), -1.0f);
    ASSERT_EQ(launch("block_sum<float>", shape, pin, out.data(), static_cast<int>(in.size())), SOFTGPU_KERNEL_OK);
    for (unsigned b = 0; b < kBlocks; ++b)
      ASSERT_EQ(out[b], std::accumulate(in.begin() + b * kThreads, in.begin() + (b + 1) * kThreads, 0.0f));
  }
}

TEST(Barrier, VotesCountEveryThread) {
  constexpr unsigned n = 70;
  std::vector<int> in(3 * n), count(3 * n), all(3 * n), any(3 * n);
  for (unsigned i = 0; i < n; ++i) in[i] = i % 3 == 0, in[n + i] = 5, in[2 * n + i] = 0;
  const int* pin = in.data();
  ASSERT_EQ(launch("vote_in_block", {.block = {n, 1, 1}}, pin, count.data(), all.data(), any.data()),
            SOFTGPU_KERNEL_OK);
  int const expected[3][3] = {{24, 0, 1}, {70, 1, 1}, {0, 0, 0}};
  for (unsigned i = 0; i < 3 * n; ++i) {
    ASSERT_EQ(count[i], expected[i / n][0]);
    ASSERT_EQ(all[i], expected[i / n][1]);
    ASSERT_EQ(any[i], expected[i / n][2]);
  }
}

TEST(Barrier, ExitedThreadsCountAsArrived) {
  for (unsigned stay : {1u, 17u, 32u, 45u, 100u}) {
    std::vector<int> out(100, -1);
    ASSERT_EQ(launch("barrier_after_exit", {.block = {100, 1, 1}}, out.data(), stay), SOFTGPU_KERNEL_OK);
    for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(out[i], i < stay ? static_cast<int>(stay) : -1) << stay << " " << i;
  }
}

TEST(Barrier, ThreadsMayLeaveOneByOne) {
  std::vector<int> rounds(90);
  ASSERT_EQ(launch("leave_one_by_one", {.block = {90, 1, 1}}, rounds.data()), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < 90; ++i) EXPECT_EQ(rounds[i], i + 1);
}

// What the PTX manual's pseudo-code gives, lane by lane.
int source_of(int lane, int arg, int width, char mode) {
  int const segment = lane / width * width;
  int source = lane;
  if (mode == 'i') source = segment + arg % width;
  if (mode == 'u') source = lane - arg >= segment ? lane - arg : lane;
  if (mode == 'd') source = lane + arg < segment + width ? lane + arg : lane;
  if (mode == 'x') source = (lane ^ arg) < segment + width ? lane ^ arg : lane;
  return source;
}

template <class T>
void expect_shuffles(const char* name) {
  std::vector<T> in(64);
  for (int i = 0; i < 64; ++i) in[i] = static_cast<T>(static_cast<float>(3 * i + 1));
  const T* pin = in.data();
  auto const bits = [](const T& value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  for (int width : {32, 16, 8, 1})
    for (int arg : {0, 1, 2, 5, 16, 31}) {
      std::vector<ShuffleResults<T>> out(64);
      ASSERT_EQ(launch(name, {.block = {64, 1, 1}}, pin, out.data(), arg, width), SOFTGPU_KERNEL_OK);
      for (int t = 0; t < 64; ++t) {
        int const warp = t / 32 * 32, lane = t % 32;
        ASSERT_EQ(bits(out[t].indexed), bits(in[warp + source_of(lane, arg, width, 'i')]));
        ASSERT_EQ(bits(out[t].up), bits(in[warp + source_of(lane, arg, width, 'u')]));
        ASSERT_EQ(bits(out[t].down), bits(in[warp + source_of(lane, arg, width, 'd')]));
        ASSERT_EQ(bits(out[t].exchanged), bits(in[warp + source_of(lane, arg, width, 'x')]));
      }
    }
}

TEST(Warp, ShufflesMoveValuesOfEveryType) {
  expect_shuffles<int>("shuffle_all<int>");
  expect_shuffles<unsigned>("shuffle_all<unsigned int>");
  expect_shuffles<float>("shuffle_all<float>");
  expect_shuffles<double>("shuffle_all<double>");
  expect_shuffles<long long>("shuffle_all<long long>");
  expect_shuffles<unsigned long long>("shuffle_all<unsigned long long>");
  expect_shuffles<__half>("shuffle_all<__half>");
}

TEST(Warp, VotesAndMatches) {
  for (unsigned threads : {96u, 75u}) {
    std::vector<int> in(threads);
    for (unsigned i = 0; i < threads; ++i) in[i] = i < 32 ? static_cast<int>(i % 3) : i < 64 ? 4 : 0;
    std::vector<VoteResults> out(threads);
    const int* pin = in.data();
    ASSERT_EQ(launch("vote_in_warp", {.block = {threads, 1, 1}}, pin, out.data()), SOFTGPU_KERNEL_OK);
    for (unsigned t = 0; t < threads; ++t) {
      unsigned ballot = 0, same = 0, present = 0;
      for (unsigned lane = 0; lane < 32 && t / 32 * 32 + lane < threads; ++lane) {
        int const other = in[t / 32 * 32 + lane];
        present |= 1u << lane;
        if (other) ballot |= 1u << lane;
        if (other == in[t]) same |= 1u << lane;
      }
      const VoteResults& r = out[t];
      ASSERT_EQ(r.ballot, ballot) << t;
      ASSERT_EQ(r.any, ballot != 0);
      ASSERT_EQ(r.all, ballot == present);
      ASSERT_EQ(r.same, same);
      ASSERT_EQ(r.all_same, same == present);
      ASSERT_EQ(r.all_same_mask, same == present ? present : 0);
      ASSERT_EQ(r.active, present);
    }
  }
}

TEST(Warp, Reductions) {
  std::vector<unsigned> in(32);
  std::mt19937 random(7);
  for (unsigned& x : in) x = random() | 0x11u;
  std::vector<ReduceResults> out(32);
  const unsigned* pin = in.data();
  ASSERT_EQ(launch("reduce_in_warp", {.block = {32, 1, 1}}, pin, out.data()), SOFTGPU_KERNEL_OK);
  auto const fold = [&](unsigned start, auto f) { return std::accumulate(in.begin(), in.end(), start, f); };
  std::vector<int> as_int(in.begin(), in.end());
  for (const ReduceResults& r : out) {
    EXPECT_EQ(r.add, fold(0, std::plus<>{}));
    EXPECT_EQ(r.least, *std::min_element(in.begin(), in.end()));
    EXPECT_EQ(r.most, *std::max_element(in.begin(), in.end()));
    EXPECT_EQ(r.conjunction, fold(~0u, std::bit_and<>{}));
    EXPECT_EQ(r.disjunction, fold(0, std::bit_or<>{}));
    EXPECT_EQ(r.parity, fold(0, std::bit_xor<>{}));
    EXPECT_EQ(static_cast<unsigned>(r.signed_add), r.add);
    EXPECT_EQ(r.signed_least, *std::min_element(as_int.begin(), as_int.end()));
    EXPECT_EQ(r.signed_most, *std::max_element(as_int.begin(), as_int.end()));
  }
}

TEST(Warp, GroupsWithTheirOwnMasksRunIndependently) {
  std::vector<int> out(64);
  ASSERT_EQ(launch("diverge", {.block = {64, 1, 1}}, out.data()), SOFTGPU_KERNEL_OK);
  for (int t = 0; t < 64; ++t) {
    int const base = t / 32 * 32, mirrored = 31 - t % 32;
    int const low = 16 * base + 120, high = base + 31 + 5;
    ASSERT_EQ(out[t], mirrored < 16 ? low : high) << t;
  }
}

TEST(Warp, ActiveMaskIsAnsweredPerBranch) {
  std::vector<unsigned> out(64);
  ASSERT_EQ(launch("active_in_branches", {.block = {64, 1, 1}}, out.data()), SOFTGPU_KERNEL_OK);
  for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(out[t], t % 2 ? 0xaaaaaaaau : 0x55555555u) << t;
}

TEST(CooperativeGroups, CoalescedThreadsAndTiles) {
  std::vector<int> in(96);
  for (unsigned i = 0; i < 96; ++i) in[i] = i % 5 == 0;
  unsigned total = 0, leaders = 0;
  const int* pin = in.data();
  ASSERT_EQ(launch("count_coalesced", {.block = {96, 1, 1}}, pin, &total, &leaders), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(total, 20u);
  EXPECT_EQ(leaders, 3u);

  std::vector<int> out(48);
  std::iota(in.begin(), in.end(), 0);
  ASSERT_EQ(launch("tile_sums", {.block = {8, 6, 1}}, pin, out.data()), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < 48; ++i) EXPECT_EQ(out[i], i / 8 * 64 + 28 + i / 8 * 1000);
}

TEST(CooperativeGroups, ATileKnowsItsPlaceInTheTileItIsAPartOf) {
  std::vector<unsigned> out(64);
  ASSERT_EQ(launch("tiles_in_tiles", {.block = {64, 1, 1}}, out.data()), SOFTGPU_KERNEL_OK);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 16 / 4 * 100 + 40 + i % 4);
}

TEST(CooperativeGroups, AllThreadsOfAGridMeet) {
  constexpr unsigned kManyBlocks = kSanitized ? 8 : 64;  // ThreadSanitizer knows at most 8128 fibers
  struct Row {
    SoftgpuDim grid, block;
  };
  for (Row const row : {Row{{1, 1, 1}, {1, 1, 1}}, Row{{2, 1, 1}, {32, 1, 1}}, Row{{5, 3, 2}, {70, 1, 1}},
                        Row{{kManyBlocks, 1, 1}, {256, 1, 1}}}) {
    unsigned const threads = row.grid.x * row.grid.y * row.grid.z * row.block.x;
    constexpr int kRounds = 7;
    std::vector<unsigned> values(threads);
    unsigned wrong = 0;
    Shape const shape{.grid = row.grid, .block = row.block, .dynamic_shared_bytes = 1024, .cooperative = true};
    ASSERT_EQ(launch("pass_round_grid", shape, values.data(), &wrong, kRounds), SOFTGPU_KERNEL_OK);
    EXPECT_EQ(wrong, 0u);
    for (unsigned i = 0; i < threads; ++i) ASSERT_EQ(values[i], (i + kRounds) % threads);
  }
}

TEST(Atomics, AreAtomicAcrossBlocksOnFourThreads) {
  constexpr unsigned kBlocks = 64, kThreads = 128;
  constexpr int n = kBlocks * kThreads;
  Atomics a{};
  a.conjunction = 0xfffff;
  a.ring_down = 3;
  a.unsigned_least = ~0u;
  a.short_swapped = 1;
  Shape const shape{.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}, .os_threads = 4};
  ASSERT_EQ(launch("touch_atomics", shape, &a), SOFTGPU_KERNEL_OK);
  int parity = 0;
  unsigned up = 0, down = 3;
  for (int i = 0; i < n; ++i) {
    parity ^= i;
    up = up >= 6 ? 0 : up + 1;
    down = down == 0 ? 6 : down - 1;
  }
  EXPECT_EQ(a.sum, n / 2 * (n - 1));
  EXPECT_EQ(a.difference, -(n / 2 * (n - 1)));
  EXPECT_EQ(a.least, 1 - n);
  EXPECT_EQ(a.most, n - 1);
  EXPECT_EQ(a.conjunction, 0xf0000);
  EXPECT_EQ(a.disjunction, 0xffff);
  EXPECT_EQ(a.parity, parity);
  EXPECT_EQ(a.exchanged, 42);
  EXPECT_EQ(a.unsigned_sum, 2u * n);
  EXPECT_EQ(a.ring_up, up);
  EXPECT_EQ(a.ring_down, down);
  EXPECT_EQ(a.unsigned_least, 100000u - n + 1);
  EXPECT_EQ(a.wide_sum, (1ull << 33) * n);
  EXPECT_EQ(a.wide_most, static_cast<unsigned long long>(n - 1) << 32);
  EXPECT_EQ(a.wide_or, ~0ull);
  EXPECT_EQ(a.signed_wide_least, -4000000000ll * (n - 1));
  EXPECT_EQ(a.float_sum, static_cast<float>(n));
  EXPECT_EQ(a.float_exchanged, 2.5f);
  EXPECT_EQ(a.double_sum, n / 2.0);
  EXPECT_EQ(__half2float(a.half_sum), 16.0f);
  EXPECT_EQ(__low2float(a.half2_sum), 64.0f);
  EXPECT_EQ(__high2float(a.half2_sum), 128.0f);
  EXPECT_EQ(__bfloat162float(a.brain_sum), 32.0f);
  EXPECT_EQ(a.short_swapped, 2);
}

TEST(Atomics, ALockByCompareAndSwapIsNotADeadlock) {
  Atomics a{};
  Shape const shape{.grid = {32, 1, 1}, .block = {64, 1, 1}, .os_threads = 4};
  ASSERT_EQ(launch("spin_lock", shape, &a), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(a.spin_sum, 32.0 * 64);
}

TEST(Atomics, TheLastBlockSeesWhatTheOthersWrote) {
  constexpr unsigned kBlocks = 100;
  std::vector<float> in(kBlocks * 128, 1.0f), part(kBlocks);
  const float* pin = in.data();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    float out = 0;
    unsigned done = 0;
    Shape const shape{.grid = {kBlocks, 1, 1}, .block = {128, 1, 1}, .os_threads = 4};
    ASSERT_EQ(launch("sum_by_last_block", shape, pin, part.data(), &out, &done), SOFTGPU_KERNEL_OK);
    ASSERT_EQ(out, 12800.0f);
  }
}

TEST(Fibers, AWaitingLoopThatSleepsLetsTheOthersRun) {
  int flag = 0;
  ASSERT_EQ(launch("wait_for_thread", {.block = {200, 1, 1}}, &flag), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(flag, 1);
}

}  // namespace
}  // namespace tidemark::softgpu::testing
