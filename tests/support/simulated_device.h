// SPDX-License-Identifier: Apache-2.0
// A fake driver with streams that run behind the program, as late or as early as a schedule wants. Work is stamping and
// verifying of memory by its owner's number: memory that is handed out too early is stamped by its new owner before the
// old one's queued verification has run, and that is found. Bytes belong to physical pages: a page that is mapped
// elsewhere takes its stamps along, and queued work that reaches unmapped memory is an error of its own. Thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_upstream.h"

namespace tidemark::tests {

enum class Schedule : std::uint8_t {
  Eager,   // work runs when it is submitted
  Late,    // work runs when somebody waits for it
  Random,  // any call may let any stream run on a little
};

class SimulatedDevice : public FakeUpstream {
 public:
  SimulatedDevice(const FakeOptions& options, Schedule schedule, std::uint32_t seed = 1)
      : FakeUpstream(options), schedule_(schedule), random_(seed) {}

  StreamHandle make_stream();
  // Queued work: every granule of [address, address + bytes) gets, or must have, the owner's number.
  void stamp(StreamHandle stream, std::uint64_t address, std::uint64_t bytes, std::uint64_t owner);
  void verify(StreamHandle stream, std::uint64_t address, std::uint64_t bytes, std::uint64_t owner);
  void run_everything();
  // Who wrote last to the place that an address shows; 0: nobody.
  std::uint64_t owner_at(std::uint64_t address) const;
  static constexpr std::uint64_t kFilled = ~0ull;  // the owner of memory that was filled
  // Memory that was in other hands when its owner's work came to it.
  std::uint64_t corruptions() const;

  Status create_event(EventHandle* event) override;
  Status record(EventHandle event, StreamHandle stream) override;
  Status query(EventHandle event) override;
  Status wait(EventHandle event) override;
  Status wait_in_stream(StreamHandle stream, EventHandle event) override;
  Status synchronize() override;
  Status make_stream(StreamHandle* stream) override;
  Status fill(const allocator::Fill& fill, StreamHandle stream) override;

 protected:
  void before_unmap(std::uint64_t address, std::uint64_t bytes) override;

 private:
  enum class Kind : std::uint8_t { Stamp, Verify, Fill, Record, Wait };
  struct Work {
    Kind kind;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t owner = 0;
    std::uint64_t event = 0;
    std::uint64_t version = 0;
  };
  struct Event {
    std::uint64_t recorded = 0;  // versions
    std::uint64_t done = 0;
    std::uint64_t stream = 0;
  };
  bool run_one(std::uint64_t stream);
  void run(const Work& work);
  void run_fill(const Work& work);
  void run_until(std::uint64_t event, std::uint64_t version);
  void tick();
  void submit(StreamHandle stream, const Work& work);

  Schedule schedule_;
  std::mt19937 random_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::deque<Work>> streams_;
  std::map<std::uint64_t, Event> events_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> owners_;  // by place of the granule
  std::uint64_t corruptions_ = 0;
};

}  // namespace tidemark::tests
