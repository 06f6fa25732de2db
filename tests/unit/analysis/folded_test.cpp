// SPDX-License-Identifier: Apache-2.0
// A ring's summary against that of a trace that kept everything.
#include <memory>

#include "tests/unit/analysis/fixture.h"
#include "tests/unit/trace/ring_program.h"

namespace tidemark::analysis {
namespace {

using trace::Actor;
using trace::Dictionary;
using trace::File;
using trace::Model;

// The same random program in both, with names.
class Both {
 public:
  explicit Both(std::size_t operations, std::uint64_t ring_bytes = 4 << 20) {
    File& ring = trace::make_ring(folder_.file("ring.tide"), ring_bytes, model_);
    File& whole = trace::make_file(folder_.file("whole.tide"));
    trace::Pair pair{model_, &ring, &whole, {0}};
    for (File* const file : {&ring, &whole}) {
      auto const& names = names_.emplace_back(std::make_unique<Dictionary>());
      EXPECT_TRUE(names->start(*file));
      pair.paths = {0};
      for (const char* const layer : {"embed", "block.0", "block.1", "head"})
        pair.paths.push_back(names->path(0, layer));
    }
    Actor actor(pair, 1, 3);
    actor.run(operations);
    for (File* const file : {&ring, &whole}) file->close(trace::FileState::Closed);
  }
  Summary ring(const Question& question = {}) const { return ask("ring.tide", question); }
  Summary whole(const Question& question = {}) const { return ask("whole.tide", question); }

 private:
  Summary ask(const char* name, const Question& question) const {
    auto summary = summarize(trace::read_back(folder_.file(name)), question);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().what);
    return summary.ok() ? std::move(*summary) : Summary{};
  }
  trace::Folder folder_;
  Model model_;
  std::vector<std::unique_ptr<Dictionary>> names_;
};

template <class Rows>
std::map<std::string, std::uint64_t> allocations(const Rows& rows) {
  std::map<std::string, std::uint64_t> out;
  for (auto const& row : rows) out[row.name] = row.allocations;
  return out;
}

void expect_same_sums(const Summary& ring, const Summary& whole) {
  EXPECT_EQ(ring.totals.allocations, whole.totals.allocations);
  EXPECT_EQ(ring.totals.frees, whole.totals.frees);
  EXPECT_EQ(ring.totals.requested_bytes, whole.totals.requested_bytes);
  EXPECT_EQ(ring.totals.driver_allocations, whole.totals.driver_allocations);
  EXPECT_EQ(ring.totals.driver_frees, whole.totals.driver_frees);
  EXPECT_EQ(ring.end_live_bytes, whole.end_live_bytes);
  EXPECT_EQ(allocations(ring.layers), allocations(whole.layers));
  EXPECT_EQ(allocations(ring.classes), allocations(whole.classes));
  std::map<std::string, std::uint64_t> ends[2];
  for (ClassRow const& c : ring.classes) ends[0][c.name] = c.end_bytes;
  for (ClassRow const& c : whole.classes) ends[1][c.name] = c.end_bytes;
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(Folded, SumsAreThoseOfTheWholeRun) {
  Both const both(150'000);
  Summary const ring = both.ring(), whole = both.whole();
  ASSERT_TRUE(ring.folded);
  EXPECT_GT(ring.folded->until_ns, 0u);
  EXPECT_FALSE(whole.folded);
  expect_same_sums(ring, whole);
  EXPECT_TRUE(ring.source.oddities.empty());
  EXPECT_EQ(ring.peak_live_bytes, whole.peak_live_bytes);
  EXPECT_EQ(ring.folded->failures, whole.failures.size());
}

TEST(Folded, SumsOfASelectionToo) {
  Both const both(150'000);
  Filter filters[5];
  filters[0].layer = "block.*";
  filters[1].kind = Kind::Activation;
  filters[2].phase = Phase::Backward;
  filters[3].device = 1;
  filters[4].step = 17;
  for (Filter const& filter : filters) {
    Summary const ring = both.ring({.filter = filter}), whole = both.whole({.filter = filter});
    EXPECT_NE(whole.totals.allocations, 0u);
    expect_same_sums(ring, whole);
  }
}

TEST(Folded, EveryStepIsThereWithItsPeak) {
  Both const both(150'000);
  Summary const ring = both.ring(), whole = both.whole();
  ASSERT_GT(ring.folded->steps_until, 100u);
  ASSERT_EQ(ring.steps.size(), whole.steps.size());
  for (std::size_t i = 0; i < ring.steps.size(); ++i) {
    StepRow const &got = ring.steps[i], &wanted = whole.steps[i];
    ASSERT_EQ(got.step, wanted.step);
    EXPECT_EQ(got.peak_live_bytes, wanted.peak_live_bytes) << got.step;
    EXPECT_EQ(got.end_live_bytes, wanted.end_live_bytes) << got.step;
    EXPECT_EQ(got.allocations, wanted.allocations) << got.step;
  }
}

// Two months of steps do not fit either: neighbours are one row then.
TEST(Folded, ManyStepsAreRowsOfSeveral) {
  trace::Folder const folder;
  Model model;
  File& file = trace::make_ring(folder.file("ring.tide"), 1 << 20, model);
  Actor actor({model, &file}, 1, 3);
  constexpr std::uint64_t kSteps = 20'000;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    actor.step(step);
    for (int i = 0; i < 10; ++i) actor.allocate();
  }
  file.close(trace::FileState::Closed);
  auto const s = summarize(trace::read_back(folder.file("ring.tide")), {});
  ASSERT_TRUE(s.ok() && s->folded);
  EXPECT_LT(s->folded->steps_until, 1000u);
  EXPECT_LE(std::filesystem::file_size(folder.file("ring.tide")), 2u << 20);
  std::uint64_t next = 0, allocations = 0;
  for (StepRow const& row : s->steps) {
    EXPECT_EQ(row.step, next);
    next = row.last_step + 1;
    allocations += row.allocations;
  }
  EXPECT_EQ(next, kSteps);
  EXPECT_EQ(allocations, s->totals.allocations);
}

TEST(Folded, ThePeakOfTheRunMayBeOfATimeThatIsSums) {
  trace::Folder const folder;
  Model model;
  File& file = trace::make_ring(folder.file("ring.tide"), 1 << 20, model);
  Actor actor({model, &file}, 1, 3);
  actor.step(5);
  for (int i = 0; i < 1000; ++i) actor.allocate();
  std::uint64_t const peak = model.live_bytes;
  while (model.blocks != 0) actor.release();
  for (std::uint64_t step = 6; step < 200; ++step) {
    actor.step(step);
    for (int i = 0; i < 500; ++i) {
      actor.allocate();
      while (model.blocks != 0) actor.release();
    }
  }
  file.header().totals.peak_live_bytes = peak;
  file.close(trace::FileState::Closed);
  auto const s = summarize(trace::read_back(folder.file("ring.tide")), {});
  ASSERT_TRUE(s.ok() && s->folded);
  EXPECT_LT(s->peak.live_bytes, peak);
  EXPECT_EQ(s->peak_live_bytes, peak);
  EXPECT_EQ(s->folded->peak_step, 5u);
  EXPECT_EQ(sum(s->peak.by_layer), s->peak.live_bytes);
}

TEST(Folded, ATimeBeforeTheWindowIsAnsweredWithTheEarliestThereIs) {
  Both const both(150'000);
  Summary const s = both.ring({.at_ns = 1});
  ASSERT_TRUE(s.at);
  EXPECT_GT(s.at->time_ns, 1u);
  EXPECT_EQ(sum(s.at->by_layer), s.at->live_bytes);
  EXPECT_GT(s.at->live_bytes, 0u);
}

}  // namespace
}  // namespace tidemark::analysis
