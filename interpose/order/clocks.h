// SPDX-License-Identifier: Apache-2.0
// Which work of which stream is known to come before which: a clock for each stream that counts its work, and for each
// stream how far the others are when its next work begins. Told by the calls that order streams (events, waits, the
// legacy stream) and by those that make the host wait.
//
// What is not known counts as ordered: whoever looks for work without an order finds none that has one. Not
// thread-safe, and asks no driver.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>

namespace tidemark::interpose::order {

class Clocks {
 public:
  static constexpr int kMost = 64;
  static constexpr int kUntold = -1;  // a stream beyond those that are followed
  using Time = std::uint64_t;         // of one stream: how much work it had got

  // A stream begins. Blocking ones and the legacy stream wait for each other.
  enum class Kind : std::uint8_t { Legacy, Blocking, NonBlocking };
  int add(Kind kind);
  void remove(int stream);

  // Work of a stream; the time that it is done at.
  Time work(int stream);
  void record(std::uint64_t event, int stream);
  void forget(std::uint64_t event);
  void forget_events() { events_.clear(); }
  void wait(int stream, std::uint64_t event);
  // The stream waits for something that is not told: whatever there is comes before its next work.
  void wait_for_anything(int stream);
  // The host knows that it is done: all that a stream has, that an event stands behind, that there is.
  void host_waited(int stream);
  void host_waited_for(std::uint64_t event);
  void host_waited_for_all();

  // Whether work of a stream, up to a time, is over or comes before the next work of another.
  bool is_before(int stream, Time time, int later) const;

 private:
  using Row = std::array<Time, kMost>;
  struct Stream {
    bool used = false;
    Kind kind = Kind::Blocking;
    Row after{};  // by stream: what its next work comes behind; its own place is its clock
  };
  static void raise(Row& row, const Row& by);
  void heed_legacy(Stream& stream);

  std::array<Stream, kMost> streams_{};
  Row done_{};  // that the host knows of
  Row legacy_{};
  std::unordered_map<std::uint64_t, Row> events_;
};

}  // namespace tidemark::interpose::order
