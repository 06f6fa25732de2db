// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/unit/trace/fixture.h"

namespace tidemark::trace {
namespace {

using Type = Event::Type;

class LaneTest : public testing::Test {
 protected:
  LaneTest() { lane_.start(file_, 1); }
  Trace read() { return read_back(file_.path()); }

  Folder folder_;
  File& file_ = make_file(folder_.file("a.tide"));
  Lane lane_;
};

TEST_F(LaneTest, ABlockComesBackAsItWasWritten) {
  lane_.alloc({.address = 0x7f00'1234'5600, .size_bytes = 12345, .generation = 7});
  lane_.free({.address = 0x7f00'1234'5600, .generation = 7});
  auto const events = all_events(read());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, Type::Alloc);
  EXPECT_EQ(events[0].address, 0x7f00'1234'5600u);
  EXPECT_EQ(events[0].size_bytes, 12345u);
  EXPECT_EQ(events[0].generation, 7);
  EXPECT_EQ(events[0].context.thread, 1u);
  EXPECT_EQ(events[1].type, Type::Free);
  EXPECT_EQ(events[1].address, events[0].address);
  EXPECT_LE(events[0].ticks, events[1].ticks);
}

TEST_F(LaneTest, AnyAddressAndSizeFits) {
  struct Case {
    std::uint64_t address, size_bytes, parent;
  };
  Case const cases[] = {{0x100, 1, 0},
                        {0x101, 1, 0},
                        {(1ull << 48) - 256, (1ull << 40) - 1, 0},
                        {1ull << 48, 5, 0},
                        {0x200, 1ull << 40, 0},
                        {~0ull, ~0ull, 0},
                        {0x300, 0, 0x1234},
                        {0, 0, 0}};
  for (auto const& c : cases) {
    lane_.alloc({.address = c.address, .size_bytes = c.size_bytes, .block_class = Class::Mapping, .parent = c.parent});
    lane_.free({.address = c.address, .block_class = Class::Mapping});
  }
  auto const events = all_events(read());
  ASSERT_EQ(events.size(), 2 * std::size(cases));
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    EXPECT_EQ(events[2 * i].address, cases[i].address);
    EXPECT_EQ(events[2 * i].size_bytes, cases[i].size_bytes);
    EXPECT_EQ(events[2 * i].other, cases[i].parent);
    EXPECT_EQ(events[2 * i].block_class, Class::Mapping);
    EXPECT_EQ(events[2 * i + 1].address, cases[i].address);
    EXPECT_EQ(events[2 * i + 1].type, Type::Free);
  }
}

TEST_F(LaneTest, EventsCarryTheirContext) {
  lane_.enter(3);
  lane_.phase(Phase::Backward);
  lane_.step(41);
  lane_.stream(9);
  lane_.stack(5);
  lane_.device(2);
  lane_.alloc({.address = 0x1000, .size_bytes = 1});
  auto const allocs = events_of(read(), Type::Alloc);
  ASSERT_EQ(allocs.size(), 1u);
  Context const& c = allocs[0].context;
  EXPECT_EQ(c.scope, 3u);
  EXPECT_EQ(c.phase, static_cast<std::uint8_t>(Phase::Backward));
  EXPECT_EQ(c.step, 41u);
  EXPECT_EQ(c.stream, 9u);
  EXPECT_EQ(c.stack, 5u);
  EXPECT_EQ(c.device, 2);
}

// Also at the first event of every chunk: a chunk can be read on its own.
TEST_F(LaneTest, ContextGoesOnFromChunkToChunk) {
  constexpr std::size_t kEvents = 3 * kChunkSlots;
  lane_.enter(3);
  lane_.stream(9);
  for (std::size_t i = 0; i < kEvents; ++i) lane_.alloc({.address = (i + 1) << 9, .size_bytes = i});
  Trace const trace = read();
  EXPECT_EQ(trace.event_chunks(), 4u);
  auto const allocs = events_of(trace, Type::Alloc);
  ASSERT_EQ(allocs.size(), kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) {
    ASSERT_EQ(allocs[i].size_bytes, i);
    ASSERT_EQ(allocs[i].context.scope, 3u);
    ASSERT_EQ(allocs[i].context.stream, 9u);
  }
}

TEST_F(LaneTest, LayerAfterLayerCostsOneRecordEach) {
  std::uint64_t ticks = file_.clock().now();
  for (std::uint32_t layer = 1; layer <= 100; ++layer) {
    lane_.enter_at(layer, ++ticks);
    lane_.alloc_at({.address = layer << 9, .size_bytes = 1}, ++ticks);
    lane_.leave_at(0, ++ticks);
  }
  lane_.alloc_at({.address = 1 << 20, .size_bytes = 1}, ticks + 100);
  Trace const trace = read();
  auto const allocs = events_of(trace, Type::Alloc);
  ASSERT_EQ(allocs.size(), 101u);
  for (std::uint32_t layer = 1; layer <= 100; ++layer) EXPECT_EQ(allocs[layer - 1].context.scope, layer);
  EXPECT_EQ(allocs[100].context.scope, 0u);
  auto const scopes = events_of(trace, Type::Scope);
  ASSERT_EQ(scopes.size(), 101u);
  EXPECT_EQ(scopes[100].ticks, ticks) << "when it was left, not when that was written";
}

TEST_F(LaneTest, ALongGapBetweenLayersIsWritten) {
  std::uint64_t const ticks = file_.clock().now();
  lane_.enter_at(1, ticks);
  lane_.leave_at(0, ticks + 10);
  lane_.enter_at(2, ticks + 1'000'000);
  auto const scopes = events_of(read(), Type::Scope);
  ASSERT_EQ(scopes.size(), 3u);
  EXPECT_EQ(scopes[1].context.scope, 0u);
  EXPECT_EQ(scopes[1].ticks, ticks + 10);
}

TEST_F(LaneTest, TimesNeedNotBeNear) {
  std::uint64_t const base = file_.clock().now();
  std::uint64_t const stamps[] = {base, base + kTimeLimit - 1, base + 3 * kTimeLimit, base + 10, base + (1ull << 50)};
  for (std::uint64_t t : stamps) lane_.alloc_at({.address = 0x200, .size_bytes = 1}, t);
  auto const events = all_events(read());
  ASSERT_EQ(events.size(), std::size(stamps));
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].ticks, stamps[i]);
}

TEST_F(LaneTest, AnotherThreadGoesOnWithALane) {
  lane_.enter(3);
  lane_.alloc({.address = 0x200, .size_bytes = 1});
  lane_.start(file_, 2);
  lane_.alloc({.address = 0x400, .size_bytes = 1});
  Trace const trace = read();
  EXPECT_EQ(trace.event_chunks(), 1u);
  auto const allocs = events_of(trace, Type::Alloc);
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(allocs[0].context.thread, 1u);
  EXPECT_EQ(allocs[0].context.scope, 3u);
  EXPECT_EQ(allocs[1].context.thread, 2u);
  EXPECT_EQ(allocs[1].context.scope, 0u);
}

// However much of its chunk is left: what does not fit there must not be told in the name of the one before.
TEST_F(LaneTest, AnotherThreadTakesNothingOverWhereAChunkIsNearlyFull) {
  for (std::size_t left = 0; left <= 2 * kSlots<Resume>; ++left) {
    Lane lane;
    lane.start(file_, 1);
    lane.enter(3);
    for (std::size_t i = 1 + left; i < kChunkSlots; ++i) lane.alloc({.address = 0x200, .size_bytes = 1});
    auto const thread = static_cast<std::uint32_t>(100 + left);
    lane.start(file_, thread);
    lane.alloc({.address = 0x400, .size_bytes = 2});
  }
  auto allocs = events_of(read(), Type::Alloc);
  std::erase_if(allocs, [](const Event& e) { return e.size_bytes != 2; });
  ASSERT_EQ(allocs.size(), 2 * kSlots<Resume> + 1);
  for (std::size_t left = 0; left < allocs.size(); ++left) {
    EXPECT_EQ(allocs[left].context.thread, 100 + left);
    EXPECT_EQ(allocs[left].context.scope, 0u) << left << " slots left";
  }
}

TEST_F(LaneTest, ALabelNamesABlock) {
  lane_.label(0x7f00'0000'0200, Kind::Optimizer, 0x89abcdef);
  lane_.failure(
      {.block_class = 0, .device = 1, .error = 2, .size_bytes = 44 << 20, .free_bytes = 31 << 20, .text = 77});
  lane_.device_use({.device = 3, .source = DeviceUse::Nvml, .used_bytes = 10, .total_bytes = 20});
  auto const events = all_events(read());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, Kind::Optimizer);
  EXPECT_EQ(events[0].name, 0x89abcdefu);
  EXPECT_EQ(events[0].address, 0x7f00'0000'0200u);
  EXPECT_EQ(events[1].error, 2);
  EXPECT_EQ(events[1].size_bytes, 44u << 20);
  EXPECT_EQ(events[1].other, 31u << 20);
  EXPECT_EQ(events[1].name, 77u);
  EXPECT_EQ(events[1].context.device, 1);
  EXPECT_EQ(events[2].context.device, 3);
  EXPECT_EQ(events[2].size_bytes, 10u);
  EXPECT_EQ(events[2].source, DeviceUse::Nvml);
}

// Kernels are told when they are over: a short one's start may be written before an earlier one's.
TEST_F(LaneTest, KernelsKeepTheirOwnTimesAndTheScopeOfTheirLaunch) {
  std::uint64_t const base = file_.clock().now();
  lane_.enter(3);
  lane_.stream(9);
  lane_.kernel_at({.device = 2,
                   .name = 0x89abcdef,
                   .path = 0xfedcba98,
                   .duration_ns = Kernel::kLongest,
                   .stream = 0xffffffff,
                   .phase = static_cast<std::uint64_t>(Phase::Eval),
                   .step = Kernel::kStepMask},
                  base + 5'000'000);
  lane_.kernel_at({.unscoped = 1, .name = 1, .duration_ns = 7}, base - 12345);
  lane_.alloc({.address = 0x200, .size_bytes = 1});
  auto const events = all_events(read());
  auto const kernels = events_of(read(), Type::Kernel);
  ASSERT_EQ(kernels.size(), 2u);
  Event const& k = kernels[0];
  EXPECT_EQ(k.ticks, base + 5'000'000);
  EXPECT_EQ(k.start_ticks, k.ticks);
  EXPECT_EQ(k.other, Kernel::kLongest);
  EXPECT_EQ(k.name, 0x89abcdefu);
  EXPECT_EQ(k.address, 0xffffffffu);
  EXPECT_EQ(k.context.scope, 0xfedcba98u);
  EXPECT_EQ(k.context.phase, static_cast<std::uint8_t>(Phase::Eval));
  EXPECT_EQ(k.context.step, std::uint64_t{Kernel::kStepMask});
  EXPECT_EQ(k.context.device, 2);
  EXPECT_EQ(k.context.stream, 0u);
  EXPECT_EQ(k.source, 0);
  EXPECT_EQ(kernels[1].ticks, base - 12345);
  EXPECT_EQ(kernels[1].source, 1);
  EXPECT_EQ(kernels[1].other, 7u);
  Context const& after = events.back().context;
  EXPECT_EQ(after.scope, 3u) << "a kernel changes nothing for what follows";
  EXPECT_EQ(after.stream, 9u);
  EXPECT_EQ(after.device, 0);
}

TEST(Lanes, ThreadsWriteWithoutMeeting) {
  Folder const folder;
  File& file = make_file(folder.file("a.tide"));
  constexpr std::size_t kThreads = 8, kEvents = 20'000;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= kThreads; ++t)
    threads.emplace_back([&file, t] {
      Lane lane;
      lane.start(file, t);
      for (std::size_t i = 0; i < kEvents; ++i) lane.alloc({.address = (i + 1) << 9, .size_bytes = t});
    });
  // A reader may look on.
  for (int i = 0; i < 20; ++i)
    for (Event const& e : all_events(read_back(file.path()))) ASSERT_EQ(e.size_bytes, e.context.thread);
  for (auto& t : threads) t.join();
  std::vector<std::size_t> seen(kThreads + 1);
  for (Event const& e : all_events(read_back(file.path()))) {
    ASSERT_EQ(e.size_bytes, e.context.thread);
    ASSERT_EQ(e.address, ++seen[e.context.thread] << 9);
  }
  for (std::size_t t = 1; t <= kThreads; ++t) EXPECT_EQ(seen[t], kEvents);
}

}  // namespace
}  // namespace tidemark::trace
