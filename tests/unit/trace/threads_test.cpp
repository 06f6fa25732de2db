// SPDX-License-Identifier: Apache-2.0
// Threads that hand addresses to each other as fast as they can, on the machine's own clock: what is read back is in
// the order in which it was.
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "tests/unit/trace/fixture.h"
#include "trace/read/ordered.h"

namespace tidemark::trace {
namespace {

constexpr std::size_t kPlaces = 16;
constexpr int kThreads = 16, kTurns = 2000;

// An address, and who may take it: nobody (busy), or the next owner.
struct Place {
  std::atomic<bool> taken{false};
  std::uint8_t generation = 0;  // of the holder only
};

class Handover {
 public:
  explicit Handover(bool served) : served_(served), file_(make_file(folder_.file("a.tide"))) {}

  Oddities run(std::uint64_t& allocations) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { work(static_cast<std::uint32_t>(i + 1)); });
    for (std::thread& t : threads) t.join();
    file_.close(FileState::Closed);
    Trace const trace = read_back(folder_.file("a.tide"));
    Ordered ordered(trace);
    std::vector<std::uint8_t> last(kPlaces, 0);
    for (OrderedEvent e; ordered.next(e);) {
      if (e.event.type != Event::Type::Alloc) continue;
      ++allocations;
      std::uint8_t& before = last[(e.event.address >> 12) - 1];
      EXPECT_TRUE(!served_ || e.event.generation == (before == 255 ? 1 : before + 1));
      before = e.event.generation;
    }
    return ordered.oddities();
  }

 private:
  void work(std::uint32_t number) {
    Lane lane;
    lane.start(file_, number);
    std::mt19937_64 random(number);
    for (int turn = 0; turn < kTurns;) {
      std::size_t const i = random() % kPlaces;
      Place& place = places_[i];
      if (place.taken.exchange(true, std::memory_order_acquire)) continue;
      ++turn;
      Block b{.address = (i + 1) << 12, .size_bytes = 256};
      if (served_) {
        b.generation = place.generation = place.generation == 255 ? 1 : place.generation + 1;
        lane.alloc(b);
        lane.free(b);
      } else {
        lane.alloc_at(b, file_.clock().now_ordered());
        lane.free_at(b, file_.clock().now_ordered());
      }
      place.taken.store(false, std::memory_order_release);
    }
  }

  bool served_;
  Folder folder_;
  File& file_;
  std::array<Place, kPlaces> places_;
};

TEST(Threads, ServedAddressesComeBackInTheOrderOfTheirOwners) {
  std::uint64_t allocations = 0;
  EXPECT_EQ(Handover(true).run(allocations).total(), 0u);
  EXPECT_EQ(allocations, std::uint64_t{kThreads} * kTurns);
}

TEST(Threads, ObservedAddressesAreNeverLiveTwice) {
  std::uint64_t allocations = 0;
  EXPECT_EQ(Handover(false).run(allocations).total(), 0u);
  EXPECT_EQ(allocations, std::uint64_t{kThreads} * kTurns);
}

}  // namespace
}  // namespace tidemark::trace
