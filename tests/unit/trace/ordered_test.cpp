// SPDX-License-Identifier: Apache-2.0
#include "trace/read/ordered.h"

#include <fstream>
#include <map>
#include <random>
#include <set>

#include "tests/support/trace_maker.h"
#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

struct Ordering {
  std::vector<OrderedEvent> events;
  Oddities oddities;
};

Ordering order(const TraceMaker& maker) {
  Folder const folder;
  maker.save(folder.file("a.tide"));
  Trace const trace = read_back(folder.file("a.tide"));
  Ordering result;
  Ordered ordered(trace);
  for (OrderedEvent e; ordered.next(e);) result.events.push_back(e);
  result.oddities = ordered.oddities();
  return result;
}

// "+5 -3": allocations and frees by size or by block.
std::string story(const Ordering& ordering) {
  std::string text;
  for (auto const& [e, block] : ordering.events) {
    if (e.type != Event::Type::Alloc && e.type != Event::Type::Free) continue;
    text += (text.empty() ? "" : " ") + std::string(e.type == Event::Type::Alloc ? "+" : "-") + std::to_string(block) +
            "@" + std::to_string(e.ticks);
  }
  return text;
}

// What holds of any order that comes out, whatever went in.
void expect_consistent(const Ordering& ordering) {
  std::set<std::uint64_t> live;
  std::set<std::pair<std::uint64_t, std::uint64_t>> addresses;  // of plain device memory
  std::map<std::uint64_t, std::uint64_t> address_of;
  std::uint64_t now = 0, born = 0;
  for (auto const& [e, block] : ordering.events) {
    EXPECT_GE(e.ticks, now);
    now = e.ticks;
    if (e.type == Event::Type::Alloc) {
      EXPECT_EQ(block, born++);
      EXPECT_TRUE(live.insert(block).second);
      EXPECT_TRUE(addresses.emplace(e.address, static_cast<std::uint64_t>(e.block_class)).second) << "live twice";
      address_of[block] = e.address;
    } else if (e.type == Event::Type::Free) {
      EXPECT_EQ(live.erase(block), 1u);
      EXPECT_EQ(addresses.erase({address_of[block], static_cast<std::uint64_t>(e.block_class)}), 1u);
    } else if (e.type == Event::Type::Label) {
      EXPECT_TRUE(live.contains(block));
    }
  }
}

TEST(Ordered, ThreadsAreMergedByTheirStamps) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1});
  t.alloc(1, 30, {.address = 0x3000, .size_bytes = 3});
  t.alloc(2, 20, {.address = 0x2000, .size_bytes = 2});
  t.free(2, 40, {.address = 0x1000});
  t.free(1, 50, {.address = 0x2000});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@10 +1@20 +2@30 -0@40 -1@50");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, AThreadsOwnOrderStaysWhereItsClockGoesBack) {
  TraceMaker t;
  t.alloc(1, 100, {.address = 0x1000, .size_bytes = 1});
  t.free(1, 90, {.address = 0x1000});
  t.alloc(2, 95, {.address = 0x2000, .size_bytes = 1});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@95 +1@100 -1@100");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, OfEqualStampsTheLowerThreadComesFirstWhereverItsChunkIs) {
  TraceMaker t;
  t.alloc(2, 5, {.address = 0x2000, .size_bytes = 2});  // its chunk is the first of the file
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1});
  t.alloc(2, 10, {.address = 0x3000, .size_bytes = 3});
  auto const got = order(t);
  ASSERT_EQ(got.events.size(), 3u);
  EXPECT_EQ(got.events[1].event.context.thread, 1u);
  EXPECT_EQ(got.events[2].event.context.thread, 2u);
}

TEST(Ordered, OfEqualStampsTheFreeComesFirst) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1});
  t.alloc(1, 20, {.address = 0x1000, .size_bytes = 2});
  t.free(2, 20, {.address = 0x1000});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@10 -0@20 +1@20");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, OfEqualStampsTheFreeComesFirstAlsoFromBehindAnotherEvent) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1});
  t.alloc(1, 20, {.address = 0x1000, .size_bytes = 2});
  t.alloc(2, 20, {.address = 0x2000, .size_bytes = 3});
  t.free(2, 20, {.address = 0x1000});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@10 +1@20 -0@20 +2@20");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, AFreeWaitsForTheAllocationOfItsOwnStamp) {
  TraceMaker t;
  t.free(1, 20, {.address = 0x1000});
  t.alloc(2, 20, {.address = 0x1000, .size_bytes = 2});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@20 -0@20");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, GenerationsDecideAgainstTheClocks) {
  TraceMaker t;
  t.alloc(1, 1000, {.address = 0x1000, .size_bytes = 1, .generation = 1});
  t.free(1, 2000, {.address = 0x1000, .generation = 1});
  t.alloc(2, 1900, {.address = 0x1000, .size_bytes = 2, .generation = 2});  // its clock is behind
  t.free(3, 1850, {.address = 0x1000, .generation = 2});                    // and this one's more so
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@1000 -0@2000 +1@2000 -1@2000");
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, GenerationOneFollowsTheLast) {
  TraceMaker t;
  for (std::uint64_t i = 1; i <= 255; ++i) {
    t.alloc(1, 10 * i, {.address = 0x1000, .size_bytes = 1, .generation = static_cast<std::uint8_t>(i)});
    t.free(1, 10 * i + 5, {.address = 0x1000, .generation = static_cast<std::uint8_t>(i)});
  }
  t.alloc(2, 2500, {.address = 0x1000, .size_bytes = 2, .generation = 1});  // as early as the 250th owner
  auto const got = order(t);
  ASSERT_EQ(got.events.size(), 511u);
  EXPECT_EQ(got.events.back().event.size_bytes, 2u);
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, AnAllocationOfALiveAddressEndsTheBlockBefore) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1});
  t.alloc(1, 20, {.address = 0x1000, .size_bytes = 2});
  t.free(1, 30, {.address = 0x1000});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@10 -0@20 +1@20 -1@30");
  EXPECT_EQ(got.oddities.allocations_of_live, 1u);
  EXPECT_EQ(got.oddities.total(), 1u);
}

TEST(Ordered, WaitingForALostFreeEndsAndHoldsUpNobodyElse) {
  constexpr std::uint64_t kLong = 10 * Ordered::kPatienceNs;
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 1, .generation = 1});
  t.alloc(2, 20, {.address = 0x1000, .size_bytes = 2, .generation = 2});
  t.alloc(3, 30, {.address = 0x2000, .size_bytes = 3});
  t.alloc(3, kLong, {.address = 0x3000, .size_bytes = 4});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@10 +1@30 -0@30 +2@30 +3@" + std::to_string(kLong));
  EXPECT_EQ(got.oddities.allocations_of_live, 1u);
}

TEST(Ordered, AFreeWithoutAllocationIsCountedAndLeftOut) {
  TraceMaker t;
  t.free(1, 10, {.address = 0x1000});
  t.free(1, 20, {.address = 0x2000, .generation = 9});
  t.alloc(1, 30, {.address = 0x3000, .size_bytes = 1});
  t.free(1, 40, {.address = 0x3000});
  t.free(1, 50, {.address = 0x3000});
  auto const got = order(t);
  EXPECT_EQ(story(got), "+0@30 -0@40");
  EXPECT_EQ(got.oddities.frees_without_allocation, 3u);
}

TEST(Ordered, ATensorAMappingAndAHandleMayHaveOneNumber) {
  TraceMaker t;
  std::vector<Class> const classes{Class::Device,  Class::Array,       Class::Physical,
                                   Class::Mapping, Class::Reservation, Class::Tensor};
  std::uint64_t now = 0;
  for (Class const c : classes) t.alloc(1, ++now, {.address = 0x1000, .size_bytes = 1, .block_class = c});
  for (Class const c : classes) t.free(1, ++now, {.address = 0x1000, .block_class = c});
  auto const got = order(t);
  EXPECT_EQ(got.events.size(), 2 * classes.size());
  EXPECT_EQ(got.oddities.total(), 0u);
}

TEST(Ordered, ALabelIsOfTheTensorBeforeTheBlockThatHoldsIt) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 8192});
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 512, .block_class = Class::Tensor});
  t.label(1, 3, 0x1000, Kind::Parameter);
  t.free(1, 4, {.address = 0x1000, .block_class = Class::Tensor});
  t.label(1, 5, 0x1000, Kind::Buffer);
  t.label(1, 6, 0x7000, Kind::Buffer);
  auto const got = order(t);
  ASSERT_EQ(got.events.size(), 5u);
  EXPECT_EQ(got.events[2].block, 1u);
  EXPECT_EQ(got.events[4].block, 0u);
  EXPECT_EQ(got.oddities.labels_without_block, 1u);
}

TEST(Ordered, AThreadThatGoesOnInAnothersChunkKeepsItsOrder) {
  Folder const folder;
  File& file = make_file(folder.file("a.tide"));
  Lane lane;
  lane.start(file, 1);
  for (std::uint64_t i = 1; i <= 10; ++i) lane.alloc({.address = i << 12, .size_bytes = i});
  lane.start(file, 2);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    lane.free({.address = (i % 10 + 1) << 12});
    lane.alloc({.address = (i % 10 + 1) << 12, .size_bytes = i});
  }
  file.close(FileState::Closed);
  Trace const trace = read_back(folder.file("a.tide"));
  Ordering got;
  Ordered ordered(trace);
  for (OrderedEvent e; ordered.next(e);) got.events.push_back(e);
  EXPECT_EQ(got.events.size(), 20'010u);
  EXPECT_EQ(ordered.oddities().total(), 0u);
  expect_consistent(got);
}

// A cache of a few addresses and threads whose clocks differ: what comes out is what happened.
TEST(Ordered, RandomProgramsOnUnequalClocksComeOutAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::size_t const threads = 2 + random() % 6;
    std::uint64_t const skew = random() % 20'000;  // while an address changes hands some fifty times
    std::vector<std::uint64_t> ahead(threads), latest(threads, 0);
    for (auto& a : ahead) a = skew == 0 ? 0 : random() % skew;
    struct Owner {
      std::uint8_t generation = 0;
      bool live = false;
    };
    std::vector<Owner> owners(1 + random() % 20);
    std::map<std::uint64_t, std::vector<std::uint64_t>> truth;  // by address: the sizes of its blocks
    TraceMaker t;
    std::uint64_t now = 1'000'000;
    for (int i = 0; i < 4000; ++i) {
      now += random() % 400;
      std::size_t const place = random() % owners.size(), thread = random() % threads;
      Owner& owner = owners[place];
      MadeBlock block{.address = (place + 1) << 12, .size_bytes = static_cast<std::uint64_t>(i)};
      if (!owner.live) owner.generation = owner.generation == 255 ? 1 : owner.generation + 1;
      block.generation = owner.generation;
      auto const stamp = latest[thread] = std::max(latest[thread], now + ahead[thread]);
      if (owner.live)
        t.free(static_cast<std::uint32_t>(thread + 1), stamp, block);
      else
        t.alloc(static_cast<std::uint32_t>(thread + 1), stamp, block);
      if (!owner.live) truth[block.address].push_back(block.size_bytes);
      owner.live = !owner.live;
    }
    auto const got = order(t);
    EXPECT_EQ(got.oddities.total(), 0u) << "seed " << seed;
    EXPECT_EQ(got.events.size(), 4000u);
    expect_consistent(got);
    std::map<std::uint64_t, std::vector<std::uint64_t>> read;
    for (auto const& [e, block] : got.events)
      if (e.type == Event::Type::Alloc) read[e.address].push_back(e.size_bytes);
    EXPECT_EQ(read, truth) << "seed " << seed;
  }
}

// Observed blocks on one coarse clock: many equal stamps.
TEST(Ordered, RandomProgramsOnACoarseClockComeOutAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::size_t const threads = 1 + random() % 5;
    std::vector<bool> live(1 + random() % 10);
    TraceMaker t;
    std::uint64_t now = 0;
    for (int i = 0; i < 3000; ++i) {
      now += random() % 8 == 0;
      std::size_t const place = random() % live.size();
      auto const thread = static_cast<std::uint32_t>(1 + random() % threads);
      MadeBlock const block{.address = (place + 1) << 12, .size_bytes = 1};
      if (live[place])
        t.free(thread, now, block);
      else
        t.alloc(thread, now, block);
      // Within one tick nobody allocates what was freed and frees it again: then even the order would not be told.
      if (live[place] || random() % 2 == 0) ++now;
      live[place] = !live[place];
    }
    auto const got = order(t);
    EXPECT_EQ(got.oddities.total(), 0u) << "seed " << seed;
    expect_consistent(got);
  }
}

TEST(Ordered, NonsenseComesOutConsistentAndCounted) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    TraceMaker t;
    int sent = 0;
    for (int i = 0; i < 2000; ++i) {
      auto const thread = static_cast<std::uint32_t>(1 + random() % 4);
      std::uint64_t const stamp = random() % (std::uint64_t{1} << random() % 40);
      MadeBlock const block{.address = (1 + random() % 8) << 12,
                            .size_bytes = random(),
                            .block_class = random() % 9 == 0 ? Class::Tensor : Class::Device,
                            .generation = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0)};
      switch (random() % 5) {
        case 0:
        case 1: t.alloc(thread, stamp, block); break;
        case 2:
        case 3: t.free(thread, stamp, block); break;
        default: t.label(thread, stamp, block.address, Kind::Buffer); break;
      }
      ++sent;
    }
    auto const got = order(t);
    expect_consistent(got);
    EXPECT_EQ(got.events.size() + got.oddities.frees_without_allocation + got.oddities.labels_without_block,
              static_cast<std::size_t>(sent) + got.oddities.allocations_of_live);
  }
}

}  // namespace
}  // namespace tidemark::trace
