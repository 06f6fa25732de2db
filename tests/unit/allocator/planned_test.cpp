// SPDX-License-Identifier: Apache-2.0
// Serving from a plan, right or wrong.
#include <random>

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

// Places in the order of allocations, again and again; sizes must agree.
class Repeating : public PlanSource {
 public:
  struct Slot {
    std::uint64_t bytes;
    std::uint64_t offset_bytes;
  };
  explicit Repeating(std::vector<Slot> slots) : slots_(std::move(slots)) {}
  std::optional<Granules> next(DomainId /*domain*/, Granules granules) override {
    const Slot& slot = slots_[at_ % slots_.size()];
    if (to_granules(slot.bytes) != granules) return std::nullopt;
    ++at_;
    return to_granules(slot.offset_bytes);
  }

 private:
  std::vector<Slot> slots_;
  std::size_t at_ = 0;
};

constexpr std::uint64_t kMiB = 1 << 20;

// a, b live together, then c in the place of both, with half a frame in common with nothing.
const std::vector<Repeating::Slot> kStep = {{3 * kMiB, 0}, {5 * kMiB, 3 * kMiB}, {7 * kMiB, 512}};

void run_step(AllocatorTest& t) {
  std::uint64_t const a = t.allocate(3_MiB);
  std::uint64_t const b = t.allocate(5_MiB);
  EXPECT_EQ(t.allocator->free(a), Freed::Yes);
  EXPECT_EQ(t.allocator->free(b), Freed::Yes);
  std::uint64_t const c = t.allocate(7_MiB);
  EXPECT_TRUE(t.device.accessible(c, 7 * kMiB));
  EXPECT_EQ(t.allocator->free(c), Freed::Yes);
}

TEST_F(AllocatorTest, APlanIsServedWithoutMoreMemoryAndSoonWithoutTheDriver) {
  for (int i = 0; i < 3; ++i) run_step(*this);
  std::uint64_t const before = statistics().reserved_bytes;
  Repeating plan(kStep);
  allocator->use_plan(plan);
  run_step(*this);
  EXPECT_LE(statistics().reserved_bytes, before) << "frames move to the region, no second copy is made";
  std::uint64_t const calls = statistics().driver_calls;
  for (int i = 0; i < 5; ++i) run_step(*this);
  EXPECT_EQ(statistics().driver_calls, calls);
  EXPECT_EQ(statistics().plan_hits, 18u);
  EXPECT_EQ(statistics().plan_misses, 0u);
  allocator->drop_plan();
  run_step(*this);
  EXPECT_EQ(statistics().plan_hits, 18u);
}

TEST_F(AllocatorTest, APlaceThatIsInUseIsNotServedAgain) {
  Repeating plan({{4 * kMiB, 0}, {4 * kMiB, 2 * kMiB}});
  allocator->use_plan(plan);
  std::uint64_t const a = allocate(4_MiB);
  std::uint64_t const b = allocate(4_MiB);  // the plan is wrong
  ASSERT_NE(b, 0u);
  EXPECT_TRUE(b >= a + 4 * kMiB || b + 4 * kMiB <= a);
  EXPECT_EQ(statistics().plan_hits, 1u);
  EXPECT_EQ(statistics().plan_misses, 1u);
  allocator->drop_plan();
}

TEST_F(AllocatorTest, BlocksOfAPlanOutliveIt) {
  Repeating plan({{4 * kMiB, 0}});
  allocator->use_plan(plan);
  std::uint64_t const a = allocate(4_MiB);
  allocator->drop_plan();
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(allocator->give_back(~0ull >> 1), 4 * kMiB);
}

TEST_F(AllocatorTest, WithSeveralStreamsAPlaceIsServedOnlyWhenTheyHavePassed) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB);
  work(s, x, 512, 7);
  work(t, x, 512, 7);
  Repeating plan({{4 * kMiB, 0}});
  allocator->use_plan(plan);
  std::uint64_t const a = allocate(4_MiB);
  work(s, a, 4 * kMiB, 1);
  allocator->free(a);
  std::uint64_t const b = allocate(4_MiB);
  EXPECT_NE(b, a);
  work(t, b, 4 * kMiB, 2);
  device.run_everything();
  EXPECT_EQ(allocate(4_MiB), a);
  allocator->drop_plan();
}

struct Short : AllocatorTest {
  Short() : AllocatorTest({.capacity_bytes = 16 << 20}) {}
};
TEST_F(Short, AnIdlePlanGivesItsFramesUpBeforeAnAllocationFails) {
  Repeating plan({{12 * kMiB, 0}});
  allocator->use_plan(plan);
  allocator->free(allocate(12_MiB));
  std::uint64_t const other = allocate(14_MiB);
  EXPECT_NE(other, 0u);
  allocator->free(other);
  EXPECT_NE(allocate(12_MiB), 0u) << "and gets them back";
  allocator->drop_plan();
}

// Any places at all: blocks may be refused, none may overlap another.
class AnyPlaces : public PlanSource {
 public:
  std::optional<Granules> next(DomainId /*domain*/, Granules /*granules*/) override {
    if (random_() % 4 == 0) return std::nullopt;
    return random_() % to_granules(40 * kMiB);
  }

 private:
  std::mt19937 random_{3};
};

TEST_F(AllocatorTest, AnArbitraryPlanNeverHandsAByteOutTwice) {
  Stream const s = make_stream();
  AnyPlaces plan;
  allocator->use_plan(plan);
  std::mt19937 random(9);
  struct Owned {
    std::uint64_t address, bytes, owner;
  };
  std::vector<Owned> live;
  for (std::uint64_t i = 1; i < 4000; ++i) {
    if (live.size() < random() % 30) {
      std::uint64_t const bytes = 1 + random() % (1u << (9 + random() % 14));
      live.push_back({allocate({bytes}), bytes, i});
      ASSERT_NE(live.back().address, 0u);
      work(s, live.back().address, bytes, i);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      allocator->before_submission(s.domain);
      device.verify(s.handle, live.back().address, live.back().bytes, live.back().owner);
      allocator->after_submission(s.domain);
      ASSERT_EQ(allocator->free(live.back().address), Freed::Yes);
      live.pop_back();
    }
    if (i % 50 == 0) {
      ASSERT_EQ(allocator->check(), "");
    }
  }
  EXPECT_GT(statistics().plan_hits, 300u);
  EXPECT_GT(statistics().plan_misses, 100u);
  allocator->drop_plan();
}

}  // namespace
}  // namespace tidemark::allocator
