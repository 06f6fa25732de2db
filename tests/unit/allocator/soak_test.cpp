// SPDX-License-Identifier: Apache-2.0
// Many short lives of an allocator, each with other threads, streams, limits and schedules, over a driver that refuses
// now and then whatever it is asked; some with coarse sizes, a cap on what is kept, or memory that is filled when it is
// freed. TIDEMARK_TEST_SECONDS says for how long (default: a moment); TIDEMARK_TEST_SEED
// repeats the life that a failure names.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "allocator/core/allocator.h"
#include "tests/support/simulated_device.h"

namespace tidemark::allocator {
namespace {

using tests::Call;
using tests::Schedule;

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

// Places at random: a plan may be as wrong as it likes.
class AnyPlan final : public PlanSource {
 public:
  explicit AnyPlan(std::uint32_t seed) : random_(seed) {}
  std::optional<Granules> next(DomainId /*domain*/, Granules /*granules*/) override {
    if (random_() % 2 == 0) return std::nullopt;
    return to_granules(random_() % 64 * 512 * 1024);
  }

 private:
  std::mt19937 random_;
};

class Life {
 public:
  explicit Life(std::uint32_t seed)
      : random_(seed),
        capacity_bytes_((64 + random_() % 192) * kMiB),
        device_({.capacity_bytes = capacity_bytes_, .can_map = random_() % 8 != 0}, schedule(), seed),
        plan_(seed) {
    allocator_ = Allocator::make(device_, {.limit_bytes = random_() % 3 == 0 ? capacity_bytes_ / 2 : 0,
                                           .capacity_bytes = capacity_bytes_,
                                           .stitch = random_() % 8 != 0,
                                           .insert_waits = random_() % 4 != 0,
                                           .round_bytes = kGranuleBytes << (random_() % 3 == 0 ? random_() % 9 : 0),
                                           .cache_cap_bytes = cap(),
                                           .poison = random_() % 4 == 0});
    for (unsigned i = 0, n = 1 + random_() % 5; i < n; ++i) {
      StreamHandle const handle = device_.make_stream();
      streams_.push_back({handle, allocator_->add_stream(handle)});
    }
  }

  void run() {
    ASSERT_NE(allocator_, nullptr);
    std::vector<std::thread> threads;
    unsigned const count = 1 + random_() % 8;
    std::uint32_t const seed = random_();
    for (unsigned t = 0; t < count; ++t) threads.emplace_back([this, t, seed] { work(t, seed + t); });
    for (std::thread& t : threads) t.join();
    if (capture_ != 0) end_capture();
    allocator_->drop_plan();
    EXPECT_EQ(allocator_->check(), "");
    for (Block block; exchange_take(block);) release(block);
    device_.run_everything();
    EXPECT_EQ(mistakes_, 0u) << "frees of live blocks that were refused";
    EXPECT_EQ(device_.corruptions(), 0u);
    EXPECT_EQ(allocator_->check(), "");
    EXPECT_EQ(allocator_->statistics().live_bytes, 0u);
    allocator_->give_back(~0ull >> 1);
    // What the driver refused to take back is lost to both, and counted by both.
    EXPECT_EQ(device_.used_bytes(), allocator_->statistics().reserved_bytes);
    std::vector<std::string> const violations = device_.violations();
    EXPECT_TRUE(violations.empty()) << violations.front();
  }

 private:
  struct Stream {
    StreamHandle handle;
    DomainId domain;
  };
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t owner = 0;
    std::size_t stream = 0;  // the only one that uses it
    bool ordered = false;    // allocated in its order
    bool whole = false;      // the driver's own
  };

  Schedule schedule() {
    constexpr Schedule kAll[] = {Schedule::Random, Schedule::Random, Schedule::Late, Schedule::Eager};
    return kAll[random_() % 4];
  }
  std::uint64_t cap() { return random_() % 3 == 0 ? random_() % 4 * 8 * kMiB : Options::kNoCap; }
  void work(unsigned thread, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Block> mine;
    for (int i = 0; i < 400; ++i) {
      unsigned const what = random() % 100;
      if (what < 50)
        allocate(random, mine);
      else if (what < 85)
        free_one(random, mine);
      else if (what < 94 && !mine.empty())
        use(mine[random() % mine.size()]);
      else
        disturb(thread, random);
    }
    for (Block const& block : mine) release(block);
  }
  void allocate(std::mt19937& random, std::vector<Block>& mine) {
    Block block{.bytes = 1 + (random() % 4 == 0 ? random() % (6 * kMiB) : 512 * (random() % 400)),
                .owner = ++next_owner_,
                .stream = random() % streams_.size(),
                .ordered = random() % 2 == 0,
                .whole = wholes_ && random() % 64 == 0};
    DomainId const domain = block.ordered ? streams_[block.stream].domain : DomainId::Shared;
    if (allocator_->allocate({.bytes = block.bytes, .domain = domain, .whole = block.whole}, &block.address) !=
        Status::Ok)
      return;
    use(block);
    if (random() % 8 == 0) {
      std::lock_guard const guard(exchange_lock_);
      exchange_.push_back(block);
    } else {
      mine.push_back(block);
    }
  }
  void free_one(std::mt19937& random, std::vector<Block>& mine) {
    if (Block block; random() % 4 == 0 && exchange_take(block)) {
      release(block);
    } else if (!mine.empty()) {
      std::swap(mine[random() % mine.size()], mine.back());
      release(mine.back());
      mine.pop_back();
    }
  }
  // As the hooks do: ask, submit, count.
  void use(const Block& block) {
    const Stream& stream = streams_[block.stream];
    allocator_->before_submission(stream.domain);
    device_.stamp(stream.handle, block.address, block.bytes, block.owner);
    device_.verify(stream.handle, block.address, block.bytes, block.owner);
    allocator_->after_submission(stream.domain);
  }
  void release(const Block& block) {
    if (block.whole) device_.run_everything();  // as a driver's free does
    DomainId const domain = block.ordered && block.owner % 3 != 0 ? streams_[block.stream].domain : DomainId::Shared;
    if (allocator_->free_in(block.address, domain) != Freed::Yes) ++mistakes_;
  }
  // Faults, pressure, plans and captures; the last two by one thread, which is their owner.
  void disturb(unsigned thread, std::mt19937& random) {
    unsigned const what = random() % 8;
    if (what < 3) {
      auto const call = static_cast<Call>(1 + random() % (static_cast<unsigned>(Call::Count) - 1));
      // A whole block that the driver does not take back is the driver's affair, and in nobody's books.
      if (call != Call::Free || !wholes_)
        device_.fail(call, random() % 4, random() % 2 == 0 ? Status::OutOfMemory : Status::Failed);
    } else if (what == 3) {
      allocator_->give_back(random() % (8 * kMiB));
    } else if (what == 4) {
      allocator_->harvest();
    } else if (what == 5) {
      random() % 2 == 0 ? allocator_->merge_everything() : void(allocator_->give_back_idle(random() % (8 * kMiB)));
    } else if (thread == 0 && what == 6 && capture_ == 0) {
      allocator_->drop_plan();
      if (random() % 2 == 0) allocator_->use_plan(plan_);
    } else if (thread == 0) {
      if (capture_ == 0)
        capture_ = allocator_->begin_capture();
      else
        end_capture();
    }
    if (thread == 0 && capture_ != 0 && random() % 4 == 0) end_capture();
  }
  void end_capture() {
    allocator_->end_capture(capture_);
    allocator_->graphs_are_gone(capture_);
    capture_ = 0;
  }
  bool exchange_take(Block& block) {
    std::lock_guard const guard(exchange_lock_);
    if (exchange_.empty()) return false;
    block = exchange_.front();
    exchange_.pop_front();
    return true;
  }

  std::mt19937 random_;
  std::uint64_t capacity_bytes_;
  bool wholes_ = random_() % 2 == 0;
  tests::SimulatedDevice device_;
  AnyPlan plan_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<Stream> streams_;
  Allocator::CaptureId capture_ = 0;
  std::mutex exchange_lock_;
  std::deque<Block> exchange_;
  std::atomic<std::uint64_t> next_owner_{0}, mistakes_{0};
};

TEST(Soak, NothingIsCorruptedOrLostWhateverTheDriverRefuses) {
  std::uint64_t const seconds = from_environment("TIDEMARK_TEST_SECONDS", 1);
  std::uint64_t seed = from_environment("TIDEMARK_TEST_SEED", 1);
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  do {
    SCOPED_TRACE("TIDEMARK_TEST_SEED=" + std::to_string(seed));
    Life(static_cast<std::uint32_t>(seed)).run();
    ++seed;
  } while (!HasFailure() && std::chrono::steady_clock::now() < end);
  RecordProperty("lives", static_cast<int>(seed));
}

}  // namespace
}  // namespace tidemark::allocator
