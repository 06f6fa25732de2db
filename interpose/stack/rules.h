// SPDX-License-Identifier: Apache-2.0
// The rules that are known, by return address. All threads share them; finding one takes no lock.
//
// When a library is unloaded its addresses may come back with other code, so every entry carries the generation of the
// address space that it was learnt in, and is nothing in a later one. Entries stand in lines of four; a full line gives
// up one of its own. Invariant: between two equal readings of an entry's key its value does not change.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/reserved.h"
#include "interpose/stack/rule.h"

namespace tidemark::interpose {

class Rules {
 public:
  constexpr Rules() = default;
  // Once, before any other call; false when the system gives no memory.
  bool start() {
    lines_ = reinterpret_cast<Line*>(Reserved::map(kLines * sizeof(Line)).release());
    return lines_ != nullptr;
  }

  // An absent rule when it is not known.
  Rule find(std::uint64_t address, std::uint64_t generation) const {
    std::uint64_t const wanted = key(address, generation);
    for (Entry const& entry : line(address).entries) {
      if (entry.key.load(std::memory_order_acquire) != wanted) continue;
      std::uint64_t const word = entry.rule.load(std::memory_order_acquire);
      if (entry.key.load(std::memory_order_relaxed) == wanted) return Rule(word);
    }
    return {};
  }

  // One thread at a time.
  void insert(std::uint64_t address, std::uint64_t generation, Rule rule) {
    Line& to = line(address);
    Entry* place = &to.entries[next_victim_++ % kWays];
    for (Entry& entry : to.entries)
      if (generation_of(entry.key.load(std::memory_order_relaxed)) != (generation & kGenerations)) place = &entry;
    place->key.store(0, std::memory_order_relaxed);
    place->rule.store(rule.word(), std::memory_order_release);
    place->key.store(key(address, generation), std::memory_order_release);
  }
  // Forgets everything; one thread at a time. For when generations have gone once round.
  void clear() {
    for (std::size_t i = 0; i < kLines; ++i)
      for (Entry& entry : lines_[i].entries) entry.key.store(0, std::memory_order_relaxed);
  }

  // Generations are counted modulo this plus one; programs' addresses have 47 bits.
  static constexpr std::uint64_t kGenerations = (1 << 17) - 1;

 private:
  struct Entry {
    std::atomic<std::uint64_t> key;  // 0: free
    std::atomic<std::uint64_t> rule;
  };
  static constexpr std::size_t kWays = 4;
  struct alignas(64) Line {
    Entry entries[kWays];
  };
  static_assert(sizeof(Line) == 64);
  static constexpr unsigned kLineBits = 14;  // 65 536 return addresses, 1 MiB
  static constexpr std::size_t kLines = std::size_t{1} << kLineBits;

  static std::uint64_t key(std::uint64_t address, std::uint64_t generation) {
    return address << 17 | (generation & kGenerations);
  }
  static std::uint64_t generation_of(std::uint64_t key) { return key & kGenerations; }
  Line& line(std::uint64_t address) const { return lines_[address * 0x9e3779b97f4a7c15 >> (64 - kLineBits)]; }

  Line* lines_ = nullptr;
  std::size_t next_victim_ = 0;
};

}  // namespace tidemark::interpose
