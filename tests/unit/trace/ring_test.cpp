// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/unit/trace/ring_program.h"

namespace tidemark::trace {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Rows of a trace that keeps everything, as wide as a ring's.
std::vector<SumRow> widened(const Sums& sums, unsigned width) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, SumRow> rows;
  for (Sum sum : sums.rows) {
    sum.width = width;
    sum.step = first_of_steps(sum.step, width);
    SumRow const row = SumRow::of(sum);
    auto const [found, fresh] = rows.try_emplace({row.step, row.path, row.what}, row);
    if (!fresh) found->second.add(row);
  }
  std::vector<SumRow> out;
  for (auto const& [key, row] : rows)
    if (!row.nothing()) out.push_back(row);
  return out;
}

void expect_same_sums(const Trace& ring, const Trace& whole) {
  Sums const got = sum_up(ring), wanted = sum_up(whole);
  std::vector<SumRow> const rows = widened(wanted, got.width);
  ASSERT_EQ(got.rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SumRow const row = SumRow::of(got.rows[i]);
    ASSERT_TRUE(row.same(rows[i])) << i;
    EXPECT_EQ(row.allocations, rows[i].allocations) << i;
    EXPECT_EQ(row.requested_bytes, rows[i].requested_bytes) << i;
    EXPECT_EQ(row.live_bytes, rows[i].live_bytes) << i;
  }
}

void expect_same_steps(const Trace& ring, const Trace& whole) {
  Sums const got = sum_up(ring), wanted = sum_up(whole);
  std::map<std::uint64_t, StepSum> rows;
  for (StepSum const& row : wanted.steps) {
    auto const [found, fresh] = rows.try_emplace(first_of_steps(row.first, got.step_width), row);
    if (!fresh) merge(found->second, row);
  }
  std::map<std::uint64_t, StepSum> counted;
  for (StepSum const& row : got.steps)
    if (row.allocations + row.frees + row.failures != 0) counted[first_of_steps(row.first, got.step_width)] = row;
  std::erase_if(rows, [](auto const& r) { return r.second.allocations + r.second.frees + r.second.failures == 0; });
  ASSERT_EQ(counted.size(), rows.size());
  for (auto const& [group, row] : counted) {
    ASSERT_TRUE(rows.contains(group)) << group;
    StepSum const& other = rows[group];
    EXPECT_EQ(row.allocations, other.allocations) << group;
    EXPECT_EQ(row.frees, other.frees) << group;
    EXPECT_EQ(row.requested_bytes, other.requested_bytes) << group;
    EXPECT_EQ(row.live_bytes, other.live_bytes) << group;
    EXPECT_EQ(row.failures, other.failures) << group;
  }
}

TEST(Ring, ASmallTraceIsTheSameInARing) {
  Folder const folder;
  Model model;
  Pair const pair{model, &make_ring(folder.file("r.tide"), 4 * kMiB, model), &make_file(folder.file("w.tide"))};
  Actor(pair, 1, 1).run(10'000);
  Trace const ring = read_back(folder.file("r.tide")), whole = read_back(folder.file("w.tide"));
  EXPECT_EQ(ring.past().base(), nullptr);
  EXPECT_TRUE(ring.past().sums().empty());
  EXPECT_EQ(all_events(ring).size() - events_of(ring, Event::Type::Live).size(), all_events(whole).size());
  expect_same_sums(ring, whole);
}

TEST(Ring, SumsAreThoseOfATraceThatKeepsEverything) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Folder const folder;
    Model model;
    Pair const pair{model, &make_ring(folder.file("r.tide"), seed * kMiB, model), &make_file(folder.file("w.tide"))};
    Actor(pair, 1, seed).run(300'000);
    Trace const ring = read_back(folder.file("r.tide")), whole = read_back(folder.file("w.tide"));
    ASSERT_NE(ring.past().base(), nullptr);
    EXPECT_LT(all_events(ring).size(), all_events(whole).size() / 2);
    EXPECT_EQ(ring.lost_events(), 0u);
    expect_same_sums(ring, whole);
    expect_same_steps(ring, whole);
  }
}

TEST(Ring, SumsOfManyThreadsAreThoseOfATraceThatKeepsEverything) {
  Folder const folder;
  Model model;
  Pair const pair{model, &make_ring(folder.file("r.tide"), 4 * kMiB, model), &make_file(folder.file("w.tide"))};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 6; ++t)
    threads.emplace_back([&, t] { Actor(pair, t, t).run(t == 6 ? 100 : 100'000); });
  for (auto& t : threads) t.join();
  Trace const ring = read_back(folder.file("r.tide")), whole = read_back(folder.file("w.tide"));
  ASSERT_NE(ring.past().base(), nullptr);
  EXPECT_EQ(ring.lost_events(), 0u);
  expect_same_sums(ring, whole);
  expect_same_steps(ring, whole);
}

TEST(Ring, TheFileStaysAtItsSizeHoweverLongTheRunIs) {
  Folder const folder;
  Model model;
  File& file = make_ring(folder.file("r.tide"), 4 * kMiB, model);
  Actor actor({model, &file}, 1, 7);
  for (int i = 0; i < 8; ++i) {
    actor.run(150'000);
    EXPECT_LE(file.header().chunks * kChunkBytes, 4 * kMiB) << i;
  }
  EXPECT_GT(model.checkpoints, 10);
  EXPECT_LE(std::filesystem::file_size(folder.file("r.tide")), 5 * kMiB);
}

}  // namespace
}  // namespace tidemark::trace
