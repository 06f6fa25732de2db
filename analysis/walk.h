// SPDX-License-Identifier: Apache-2.0
// A walk through a history from its beginning, with the account kept at every instant.
//
// Observers see blocks enter and leave the account (born, freed, or called something else), and the account once it is
// settled: between the two halves of a renaming nobody looks.
#pragma once
#include <cstdint>
#include <span>

#include "analysis/filter.h"
#include "analysis/reserved.h"

namespace tidemark::analysis {

struct Account {
  std::uint64_t at = 0;      // changes so far
  std::uint64_t retags = 0;  // likewise
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t device_used_bytes = 0;  // by everybody; 0 before the driver has said anything
};

class Observer {
 public:
  // Found: alive when the events begin.
  enum class Why : std::uint8_t { Born, Found, Freed, Renamed };
  virtual ~Observer() = default;
  virtual void enter(const Block&, trace::Kind, Why) {}
  virtual void leave(const Block&, trace::Kind, Why) {}
  virtual void step_begins(const Account&, std::uint32_t /*index in History::steps*/) {}
  virtual void settled(const Account&) {}
};

struct Walked {
  Account account;
  ReservedSource reserved_source = ReservedSource::Live;
};

// An instant: after so many changes, and as much of what lies between the last of them and the next as is not later
// than the other two say. By itself `at` means all of it: what the driver says after an allocation belongs to it.
struct Instant {
  std::uint64_t at = 0;
  std::uint64_t retags = kNever;
  std::uint64_t time_ns = kNever;
};
inline constexpr Instant kEnd{.at = kNever};

Walked walk(const History& history, const Selection& selection, const Baselines& baselines, Instant until,
            std::span<Observer* const> observers);

}  // namespace tidemark::analysis
