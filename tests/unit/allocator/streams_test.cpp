// SPDX-License-Identifier: Apache-2.0
// When memory may be used again. The device runs late here unless a test says otherwise: whatever is not waited for has
// not happened yet.
#include <cstdlib>
#include <random>

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

using tests::Call;

TEST_F(AllocatorTest, WithASingleStreamAFreedBlockIsReusedAtOnceAndNoEventIsRecorded) {
  Stream const s = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  work(s, a, 4 << 20, 1);
  allocator->free(a);
  EXPECT_EQ(allocate(4_MiB), a);
  work(s, a, 4 << 20, 2);
  EXPECT_EQ(statistics().events_recorded, 0u);
}

TEST_F(AllocatorTest, TheSecondStreamBeginsBehindTheFirstOnesEnd) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  work(s, a, 4 << 20, 1);
  allocator->free(a);
  ASSERT_EQ(allocate(4_MiB), a);
  work(t, a, 4 << 20, 2);  // must run after the first owner's work
  EXPECT_EQ(statistics().events_recorded, 1u);
}

TEST_F(AllocatorTest, AThirdStreamAlsoBeginsBehindTheFirstOnesEnd) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  Stream const u = make_stream();
  std::uint64_t const b = allocate(2_MiB);
  std::uint64_t const a = allocate(4_MiB);
  work(s, a, 4 << 20, 1);
  allocator->free(a);
  work(t, b, 2 << 20, 2);
  ASSERT_EQ(allocate(4_MiB), a);
  work(u, a, 4 << 20, 3);
}

// Another thread records an event while a submission is on its way to the driver: it stands before that work.
TEST_F(AllocatorTest, AnEventDoesNotCoverASubmissionThatWasUnderWay) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  std::uint64_t const b = allocate(6_MiB);
  work(s, a, 4 << 20, 1);
  work(t, b, 6 << 20, 2);
  allocator->before_submission(s.domain);
  Mark mark;
  ASSERT_EQ(allocator->streams().mark(s.domain, &mark), Status::Ok);
  device.run_everything();
  ASSERT_TRUE(allocator->streams().poll());
  ASSERT_TRUE(allocator->streams().passed(mark));
  device.stamp(s.handle, a, 4 << 20, 3);
  device.verify(s.handle, a, 4 << 20, 3);
  allocator->free(a);  // by another thread, which knows that the work is submitted; it is not confirmed yet
  std::uint64_t const c = allocate(4_MiB);
  EXPECT_NE(c, a);
  work(t, c, 4 << 20, 4);
  allocator->after_submission(s.domain);
}

TEST_F(AllocatorTest, FreesShareAnEventAsLongAsNothingIsSubmitted) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t blocks[100];
  for (std::uint64_t& block : blocks) block = allocate(2_MiB);
  work(s, blocks[0], 2 << 20, 1);
  work(t, blocks[1], 2 << 20, 2);
  std::uint64_t const before = statistics().events_recorded;
  for (std::uint64_t const block : blocks) allocator->free(block);
  EXPECT_LE(statistics().events_recorded - before, 2u);
}

TEST_F(AllocatorTest, WithTwoStreamsAFreedBlockWaitsForTheBusyOnes) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  std::uint64_t const b = allocate(6_MiB);
  work(s, a, 4 << 20, 1);
  work(t, b, 6 << 20, 2);
  allocator->free(a);
  std::uint64_t const c = allocate(4_MiB);
  EXPECT_NE(c, a);
  EXPECT_EQ(statistics().pending_bytes, 4u << 20);
  EXPECT_EQ(statistics().waits_avoided, 1u);
  device.run_everything();
  EXPECT_TRUE(allocator->harvest());
  EXPECT_EQ(allocate(4_MiB), a);
}

TEST_F(AllocatorTest, ABatchOfFreesCostsOneEventPerBusyStream) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  Stream const idle = make_stream();
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(allocate(2_MiB));
  work(s, blocks[0], 2 << 20, 1);
  work(t, blocks[1], 2 << 20, 2);
  work(s, blocks[2], 2 << 20, 3);
  std::uint64_t const before = statistics().events_recorded;
  for (std::uint64_t const a : blocks) allocator->free(a);
  allocator->harvest();
  EXPECT_EQ(statistics().events_recorded - before, 2u);
  allocator->remove_stream(idle.domain);
}

// What the program submits next must not hold up a large block: its events stand right behind its free.
TEST_F(AllocatorTest, AnEventStandsCloseBehindTheFreeOfALargeBlock) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const small = allocate(1_MiB);
  std::uint64_t const large = allocate(8_MiB);
  work(s, small, 1 << 20, 1);
  work(t, large, 8 << 20, 2);
  work(s, small, 1 << 20, 1);
  std::uint64_t const before = statistics().events_recorded;
  allocator->free(small);
  EXPECT_EQ(statistics().events_recorded, before);
  allocator->free(large);
  EXPECT_EQ(statistics().events_recorded, before + 2);
}

TEST_F(AllocatorTest, AStreamReusesWhatWasFreedInItsOrderAtOnceAndOthersLater) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB, t.domain);
  work(s, x, 512, 7);
  work(t, x, 512, 8);
  device.run_everything();
  std::uint64_t const a = allocate(4_MiB, s.domain);
  work(s, a, 4 << 20, 1);
  allocator->free_in(a, s.domain);
  std::uint64_t const other = allocate(4_MiB, t.domain);
  EXPECT_NE(other, a);
  EXPECT_EQ(allocate(4_MiB, s.domain), a);
  work(s, a, 4 << 20, 2);
  allocator->free_in(a, s.domain);
  EXPECT_EQ(allocate(3_MiB, s.domain), a) << "also as a part of it";
}

TEST_F(AllocatorTest, AHoleOfAStreamIsEverybodysWhenItHasPassed) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB);
  work(s, x, 512, 7);
  work(t, x, 512, 7);
  std::uint64_t const a = allocate(4_MiB, s.domain);
  work(s, a, 4 << 20, 1);
  allocator->free_in(a, s.domain);
  std::uint64_t const reserved = statistics().reserved_bytes;
  Mark mark;
  ASSERT_EQ(allocator->streams().mark(s.domain, &mark), Status::Ok);
  device.run_everything();
  allocator->harvest();
  std::uint64_t const b = allocate(4_MiB - 512_B, t.domain);
  EXPECT_EQ(b, a);
  EXPECT_EQ(statistics().reserved_bytes, reserved);
}

struct Tight : AllocatorTest {
  Tight() : AllocatorTest({.capacity_bytes = 16 << 20}) {}
};

TEST_F(Tight, WhereMemoryIsShortAStreamTakesAnothersBehindADependency) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB);
  work(s, x, 512, 7);
  work(t, x, 512, 7);
  std::uint64_t const a = allocate(12_MiB, s.domain);
  work(s, a, 12 << 20, 1);
  allocator->free_in(a, s.domain);
  std::uint64_t const b = allocate(10_MiB, t.domain);
  ASSERT_EQ(b, a);
  work(t, b, 10 << 20, 2);
  EXPECT_EQ(statistics().inserted_waits, 1u);
  EXPECT_EQ(statistics().waits, 0u) << "the program does not wait";
}

TEST_F(Tight, MemoryTakenBehindADependencyIsFreeForOthersOnlyWhenTheFirstStreamHasPassed) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB);
  work(s, x, 512, 7);
  work(t, x, 512, 7);
  allocator->streams().synchronize();  // nothing is left to do
  std::uint64_t const a = allocate(12_MiB, s.domain);
  work(s, a, 12 << 20, 1);
  allocator->free_in(a, s.domain);
  std::uint64_t const b = allocate(10_MiB, t.domain);
  ASSERT_EQ(b, a);
  allocator->free_in(b, t.domain);  // the stream did nothing with it, and it is not the first one's end
  ASSERT_NE(allocate(10_MiB), 0u);
  EXPECT_GE(allocator->streams().passed(s.domain), allocator->streams().stamp(s.domain));
}

TEST_F(Tight, ABlockThatIsPendingOnAnEventIsWaitedForBeforeAFailure) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(10_MiB);
  work(s, a, 10 << 20, 1);
  work(t, a, 512, 1);
  allocator->free(a);
  std::uint64_t const b = allocate(12_MiB);
  ASSERT_NE(b, 0u);
  work(t, b, 12 << 20, 2);
  EXPECT_GT(statistics().waits, 0u);
}

TEST_F(Tight, FramesOfAFreedBlockMoveOnlyAfterItsStreamIsPastIt) {
  Stream const s = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  std::uint64_t const b = allocate(4_MiB);
  std::uint64_t const c = allocate(4_MiB);
  for (std::uint64_t const block : {a, b, c}) work(s, block, 4 << 20, block);
  allocator->free(a);
  allocator->free(c);
  std::uint64_t const large = allocate(12_MiB);  // violations() would tell of an unmap under queued work
  ASSERT_NE(large, 0u);
  work(s, large, 12 << 20, 9);
}

TEST_F(AllocatorTest, BlocksOfADestroyedStreamStayBehindItsLastEvent) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const x = allocate(2_MiB);
  work(s, x, 512, 7);
  work(t, x, 512, 7);
  std::uint64_t const a = allocate(4_MiB, s.domain);
  work(s, a, 4 << 20, 1);
  allocator->free_in(a, s.domain);
  allocator->remove_stream(s.domain);
  EXPECT_NE(allocate(4_MiB, t.domain), a);
  Stream const again = make_stream();
  EXPECT_NE(again.domain, s.domain) << "its number still stands for unfinished work";
  device.run_everything();
  allocator->harvest();
  EXPECT_EQ(allocate(4_MiB, t.domain), a);
  EXPECT_EQ(make_stream().domain, s.domain);
}

TEST_F(AllocatorTest, WhereWorkMayBeUnseenEveryKnownStreamIsWaitedFor) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  allocator->expect_unseen_submissions();
  device.stamp(t.handle, a, 4 << 20, 1);  // nobody tells the allocator
  device.verify(t.handle, a, 4 << 20, 1);
  allocator->free(a);
  std::uint64_t const b = allocate(4_MiB);
  EXPECT_NE(b, a);
  work(s, b, 4 << 20, 2);
  EXPECT_GE(statistics().events_recorded, 2u);
  device.run_everything();
  allocator->harvest();
  EXPECT_EQ(allocate(4_MiB), a);
  device.stamp(t.handle, a, 4 << 20, 3);
  device.verify(t.handle, a, 4 << 20, 3);
  allocator->free_in(a, t.domain);
  EXPECT_NE(allocate(4_MiB, s.domain), a);
}

TEST_F(AllocatorTest, AStreamThatCannotBeMarkedHoldsItsBlocksUntilTheDeviceIsIdle) {
  Stream const s = make_stream();
  Stream const t = make_stream();
  std::uint64_t const a = allocate(4_MiB);
  work(s, a, 4 << 20, 1);
  work(t, a, 512, 1);
  allocator->free(a);
  device.fail(Call::Record, 0, Status::Failed);
  device.fail(Call::Record, 1, Status::Failed);
  allocator->harvest();
  device.run_everything();
  EXPECT_FALSE(allocator->harvest());
  EXPECT_EQ(allocator->give_back(~0ull >> 1), 4u << 20) << "it synchronises";
}

// A program with several streams that uses and frees memory in every way there is. Owners are stamped and verified by
// queued work; any reuse before its time is a corruption.
class RandomProgram {
 public:
  RandomProgram(Schedule schedule, std::uint32_t seed, Options options)
      : device_({.capacity_bytes = 96 << 20}, schedule, seed), random_(seed) {
    options.capacity_bytes = 96 << 20;
    allocator_ = Allocator::make(device_, options);
    for (int i = 0; i < 3; ++i) add_stream();
  }
  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      unsigned const what = random_() % 100;
      if (what < 45)
        allocate();
      else if (what < 85)
        free();
      else if (what < 95)
        use(random_() % blocks_.size_or_one());
      else if (what < 97)
        replace_stream();
      else if (what < 98)
        allocator_->harvest();
      else if (what < 99)
        allocator_->give_back(4 << 20);
      else
        device_.run_everything();
      if (i % 64 == 0) {
        ASSERT_EQ(allocator_->check(), "");
      }
    }
    device_.run_everything();
    ASSERT_EQ(allocator_->check(), "");
  }
  // The mistake that the tests must be able to find: a block free for everybody although its stream is not past it.
  void reuse_too_early() { early_ = true; }
  std::uint64_t corruptions() const { return device_.corruptions(); }
  std::vector<std::string> violations() const { return device_.violations(); }

 private:
  struct Stream {
    StreamHandle handle;
    DomainId domain;
  };
  struct Block {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t owner;
    std::size_t stream;  // the only one that uses it
    bool ordered;        // allocated in its order
  };
  struct Blocks : std::vector<Block> {
    std::size_t size_or_one() const { return empty() ? 1 : size(); }
  };
  void add_stream() {
    StreamHandle const handle = device_.make_stream();
    streams_.push_back({handle, allocator_->add_stream(handle)});
  }
  void replace_stream() {
    std::size_t const i = random_() % streams_.size();
    // Another stream is not ordered behind this one: what it worked on goes first.
    std::erase_if(blocks_, [&](const Block& block) {
      if (block.stream == i) allocator_->free_in(block.address, streams_[i].domain);
      return block.stream == i;
    });
    allocator_->remove_stream(streams_[i].domain);
    StreamHandle const handle = device_.make_stream();
    streams_[i] = {handle, allocator_->add_stream(handle)};
  }
  void allocate() {
    std::size_t const stream = random_() % streams_.size();
    bool const ordered = random_() % 2 == 0;
    std::uint64_t const bytes = 1 + random_() % (1u << (9 + random_() % 15));
    std::uint64_t address = 0;
    DomainId const domain = ordered ? streams_[stream].domain : DomainId::Shared;
    if (allocator_->allocate({.bytes = bytes, .domain = domain}, &address) != Status::Ok) return;
    blocks_.push_back({address, bytes, next_owner_++, stream, ordered});
    submit(blocks_.back(), true);
  }
  void submit(const Block& block, bool stamps) {
    const Stream& stream = streams_[block.stream];
    allocator_->before_submission(stream.domain);
    if (stamps) device_.stamp(stream.handle, block.address, block.bytes, block.owner);
    device_.verify(stream.handle, block.address, block.bytes, block.owner);
    allocator_->after_submission(stream.domain);
  }
  void use(std::size_t i) {
    if (i < blocks_.size()) submit(blocks_[i], false);
  }
  void free() {
    if (blocks_.empty()) return;
    std::size_t const i = random_() % blocks_.size();
    Block const block = blocks_[i];
    blocks_[i] = blocks_.back();
    blocks_.pop_back();
    bool const in_order = random_() % 2 == 0;
    std::size_t const stream = early_ ? (block.stream + 1) % streams_.size() : block.stream;
    Freed const freed = in_order || early_ ? allocator_->free_in(block.address, streams_[stream].domain)
                                           : allocator_->free(block.address);
    EXPECT_EQ(freed, Freed::Yes);
  }

  tests::SimulatedDevice device_;
  std::mt19937 random_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<Stream> streams_;
  Blocks blocks_;
  std::uint64_t next_owner_ = 1;
  bool early_ = false;
};

// TIDEMARK_TEST_SEEDS: how many random schedules.
std::uint32_t seeds() {
  const char* const given = std::getenv("TIDEMARK_TEST_SEEDS");
  return given == nullptr ? 50 : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

struct Schedules : testing::TestWithParam<std::tuple<Schedule, std::uint32_t>> {};

TEST_P(Schedules, NoMemoryIsHandedOutTooEarly) {
  auto const [schedule, seed] = GetParam();
  RandomProgram program(schedule, seed, {});
  program.run(3000);
  EXPECT_EQ(program.corruptions(), 0u);
  EXPECT_TRUE(program.violations().empty()) << program.violations().front();
}

INSTANTIATE_TEST_SUITE_P(Fixed, Schedules,
                         testing::Combine(testing::Values(Schedule::Eager, Schedule::Late),
                                          testing::Values(1u, 2u, 3u)));
INSTANTIATE_TEST_SUITE_P(Random, Schedules,
                         testing::Combine(testing::Values(Schedule::Random), testing::Range(1u, 1 + seeds())));

TEST(PlantedMistake, AFreeInTheWrongStreamsOrderIsFound) {
  std::uint64_t found = 0;
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    RandomProgram program(Schedule::Random, seed, {});
    program.reuse_too_early();
    program.run(2000);
    found += program.corruptions() + program.violations().size();
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace tidemark::allocator
