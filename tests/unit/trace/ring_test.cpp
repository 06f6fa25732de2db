// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/unit/trace/ring_program.h"
#include "trace/read/ordered.h"

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

// Counts of steps as wide as a ring's; only where there is something to count.
std::map<std::uint64_t, StepSum> counts_of(const Sums& sums, unsigned width) {
  std::map<std::uint64_t, StepSum> rows;
  for (auto const* const steps : {&sums.said, &sums.counted})
    for (StepSum const& row : *steps) {
      if (row.allocations + row.frees + row.failures == 0) continue;
      auto const [found, fresh] = rows.try_emplace(first_of_steps(row.first, width), row);
      if (!fresh) merge(found->second, row);
    }
  return rows;
}

void expect_same_steps(const Trace& ring, const Trace& whole) {
  Sums const got = sum_up(ring);
  auto const rows = counts_of(got, got.step_width), wanted = counts_of(sum_up(whole), got.step_width);
  ASSERT_EQ(rows.size(), wanted.size());
  for (auto const& [group, row] : rows) {
    ASSERT_TRUE(wanted.contains(group)) << group;
    StepSum const& other = wanted.at(group);
    EXPECT_EQ(row.allocations, other.allocations) << group;
    EXPECT_EQ(row.frees, other.frees) << group;
    EXPECT_EQ(row.requested_bytes, other.requested_bytes) << group;
    EXPECT_EQ(row.live_bytes, other.live_bytes) << group;
    EXPECT_EQ(row.failures, other.failures) << group;
  }
}

// What is alive at the end, by the events.
std::vector<ModelBlock> alive(const Trace& trace) {
  std::map<std::uint64_t, ModelBlock> blocks;
  Ordered ordered(trace);
  for (OrderedEvent o; ordered.next(o);) {
    Event const& e = o.event;
    if (e.type == Event::Type::Free) blocks.erase(o.block);
    if (e.type == Event::Type::Label) {
      blocks[o.block].kind = e.kind;
    } else if (e.type == Event::Type::Alloc || e.type == Event::Type::Live) {
      blocks[o.block] = {.address = e.address,
                         .size_bytes = e.size_bytes,
                         .ticks = e.type == Event::Type::Live ? e.start_ticks : e.ticks,
                         .step = step_of(e.context),
                         .path = e.context.scope,
                         .name = e.name,
                         .block_class = e.block_class,
                         .device = e.context.device,
                         .phase = static_cast<Phase>(e.context.phase),
                         .kind = e.kind};
    }
  }
  std::vector<ModelBlock> out;
  for (auto const& [number, block] : blocks) out.push_back(block);
  std::sort(out.begin(), out.end());
  return out;
}

// Every allocation and free after a moment: what, when and in which context.
std::vector<std::string> timeline(const Trace& trace, std::uint64_t after) {
  std::vector<std::string> lines;
  std::map<std::uint64_t, std::uint64_t> sizes;  // of blocks, by number
  std::uint64_t live = 0;
  Ordered ordered(trace);
  for (OrderedEvent o; ordered.next(o);) {
    Event const& e = o.event;
    bool const begins = e.type == Event::Type::Alloc || e.type == Event::Type::Live;
    if (begins) live += sizes[o.block] = e.size_bytes;
    if (e.type == Event::Type::Free) live -= sizes[o.block];
    if ((e.type != Event::Type::Alloc && e.type != Event::Type::Free) || e.ticks <= after) continue;
    Context const& c = e.context;
    std::string line = e.type == Event::Type::Free ? "free" : "alloc";
    for (std::uint64_t const word :
         {e.ticks, e.address, sizes[o.block], live, std::uint64_t{c.thread}, std::uint64_t{c.scope}, step_of(c),
          std::uint64_t{c.phase}, std::uint64_t{c.device}, static_cast<std::uint64_t>(e.block_class)})
      line += " " + std::to_string(word);
    lines.push_back(std::move(line));
  }
  EXPECT_EQ(ordered.oddities().allocations_of_live, 0u);
  EXPECT_EQ(ordered.oddities().frees_without_allocation, 0u);
  return lines;
}

void expect_same_window(const Trace& ring, const Trace& whole) {
  auto const got = timeline(ring, ring.past().base()->end_ticks);
  auto const wanted = timeline(whole, ring.past().base()->end_ticks);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], wanted[i]) << i;
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
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Folder const folder;
    Model model;
    Pair const pair{model, &make_ring(folder.file("r.tide"), seed * kMiB, model), &make_file(folder.file("w.tide"))};
    Actor(pair, 1, seed).run(seed * 80'000);
    Trace const ring = read_back(folder.file("r.tide")), whole = read_back(folder.file("w.tide"));
    ASSERT_NE(ring.past().base(), nullptr);
    EXPECT_LT(all_events(ring).size(), all_events(whole).size() / 2);
    EXPECT_EQ(ring.lost_events(), 0u);
    expect_same_sums(ring, whole);
    expect_same_steps(ring, whole);
    expect_same_window(ring, whole);
    EXPECT_EQ(alive(ring), model.all());
  }
}

TEST(Ring, SumsOfManyThreadsAreThoseOfATraceThatKeepsEverything) {
  Folder const folder;
  Model model;
  Pair const pair{model, &make_ring(folder.file("r.tide"), 4 * kMiB, model), &make_file(folder.file("w.tide"))};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 6; ++t) threads.emplace_back([&, t] { Actor(pair, t, t).run(t == 6 ? 100 : 50'000); });
  for (auto& t : threads) t.join();
  Trace const ring = read_back(folder.file("r.tide")), whole = read_back(folder.file("w.tide"));
  ASSERT_NE(ring.past().base(), nullptr);
  EXPECT_EQ(ring.lost_events(), 0u);
  expect_same_sums(ring, whole);
  expect_same_steps(ring, whole);
  expect_same_window(ring, whole);
  EXPECT_EQ(alive(ring), model.all());
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
