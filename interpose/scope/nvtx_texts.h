// SPDX-License-Identifier: Apache-2.0
// NVTX's handles: strings that a program registered, and its domains. A handle is the address of an entry in memory of
// our own; where another tool is chained it is that tool's, and the entry is found by it.
//
// Any thread. Entries are never removed. What is not a handle is noticed and is nobody's text.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/address_map.h"
#include "base/spin_lock.h"

namespace tidemark::interpose {

class NvtxTexts {
 public:
  constexpr NvtxTexts() = default;

  // Keeps a text; `handle` is another tool's, or null for one of ours. The handle, or null when there is no more room.
  void* add(std::string_view text, void* handle);
  // False when the handle is not known.
  bool find(const void* handle, std::string_view& text);

 private:
  struct Entry {
    std::uint64_t mark;  // kMark + its own address
    std::uint64_t bytes;
    char* text() { return reinterpret_cast<char*>(this + 1); }
  };
  static constexpr std::uint64_t kMark = 0x5854'5654'4e4d'4454;
  static constexpr std::size_t kBytes = std::size_t{64} << 20;  // of address space
  static constexpr std::size_t kLongest = 1024;
  Entry* make(std::string_view text);
  Entry* entry_at(const void* address) const;

  SpinLock lock_;  // guards what follows, except reading of the first two
  std::atomic<char*> memory_{nullptr};
  std::atomic<std::size_t> used_{0};
  AddressMap<Entry*> foreign_;
};

}  // namespace tidemark::interpose
