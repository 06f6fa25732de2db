// SPDX-License-Identifier: Apache-2.0
// A map from addresses to small plain values in memory of its own: usable inside a program's allocation calls, before
// its main and after its end. Not thread-safe: the owner locks. Constant-initialised and never taken down.
//
// Open addressing with linear probing; an erased entry is closed by moving later ones back, so that a map that lives
// for days does not fill up with marks of what was there. Invariant: count_ <= 3/4 of the entries.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/reserved.h"

namespace tidemark {

template <class Value>
class AddressMap {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  constexpr AddressMap() = default;
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  std::size_t size() const { return count_; }
  // The value of an address, made if there was none; null when the system gives no memory. Address 0 cannot be a key.
  Value* insert(std::uint64_t address) {
    if (count_ >= capacity_ / 4 * 3 && !grow()) return nullptr;
    std::size_t i = start(address);
    while (entries_[i].address != 0 && entries_[i].address != address) i = next(i);
    if (entries_[i].address == 0) {
      entries_[i] = {address, Value{}};
      ++count_;
    }
    return &entries_[i].value;
  }
  Value* find(std::uint64_t address) {
    if (capacity_ == 0) return nullptr;
    for (std::size_t i = start(address); entries_[i].address != 0; i = next(i))
      if (entries_[i].address == address) return &entries_[i].value;
    return nullptr;
  }
  bool erase(std::uint64_t address) {
    if (capacity_ == 0) return false;
    std::size_t hole = start(address);
    for (; entries_[hole].address != address; hole = next(hole))
      if (entries_[hole].address == 0) return false;
    // Whoever stands behind the hole and would have liked to stand in it, moves there.
    for (std::size_t i = next(hole); entries_[i].address != 0; i = next(i)) {
      std::size_t const home = start(entries_[i].address);
      if (((i - home) & (capacity_ - 1)) < ((i - hole) & (capacity_ - 1))) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole].address = 0;
    --count_;
    return true;
  }
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (entries_[i].address != 0) f(entries_[i].address, entries_[i].value);
  }
  // Gives the memory back; the map is empty then. (There is no destructor: maps in libraries outlive everything.)
  void release() {
    Reserved const before = Reserved::adopt(reinterpret_cast<std::byte*>(entries_), capacity_ * sizeof(Entry));
    entries_ = nullptr;
    capacity_ = count_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t address;
    Value value;
  };
  static constexpr std::size_t kFirst = 256;

  std::size_t start(std::uint64_t address) const { return address * 0x9e3779b97f4a7c15 >> 20 & (capacity_ - 1); }
  std::size_t next(std::size_t i) const { return (i + 1) & (capacity_ - 1); }

  bool grow() {
    std::size_t const bigger = capacity_ == 0 ? kFirst : 2 * capacity_;
    Reserved fresh = Reserved::map(bigger * sizeof(Entry));
    if (!fresh) return false;
    Entry* const old = entries_;
    std::size_t const old_capacity = capacity_;
    Reserved const before = Reserved::adopt(reinterpret_cast<std::byte*>(old), old_capacity * sizeof(Entry));
    entries_ = reinterpret_cast<Entry*>(fresh.release());
    capacity_ = bigger;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].address == 0) continue;
      std::size_t at = start(old[i].address);
      while (entries_[at].address != 0) at = next(at);
      entries_[at] = old[i];
    }
    return true;
  }

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

}  // namespace tidemark
