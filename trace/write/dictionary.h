// SPDX-License-Identifier: Apache-2.0
// Names, call stacks and facts: each is written once, into chunks that all threads share, and is called by its number
// after that.
//
// Any thread may ask; a name that is known is found without a lock. The tables point at the records in the trace
// itself, so nothing is kept twice and nothing comes from the heap. 0 is nobody's number: it stands for what could not
// be written.
#pragma once
#include <span>
#include <string_view>

#include "base/reserved.h"
#include "base/spin_lock.h"
#include "trace/format/record.h"
#include "trace/write/file.h"

namespace tidemark::trace {

// Return addresses, innermost first. `replaced`: how many objects had taken the addresses of others by then, so that
// equal addresses of different code are different stacks.
struct CallStack {
  std::span<const std::uint64_t> frames;
  StackEnd end = StackEnd::Whole;
  std::uint32_t replaced = 0;
};

struct LoadedObject {
  std::uint64_t begin = 0, end = 0, bias = 0, ticks = 0;
  std::string_view build_id;
  std::string_view path;
};

class Dictionary {
 public:
  constexpr Dictionary() = default;
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  ~Dictionary() = default;

  // Once, before any other call; false when the system gives no memory.
  bool start(File& file);

  // Longer names than a record holds are cut.
  std::uint32_t string(std::string_view text);
  // A layer that there is no space for is a part of the one around it.
  std::uint32_t path(std::uint32_t parent, std::string_view name);
  std::uint32_t stack(const CallStack& stack);
  std::uint32_t stream(std::uint64_t handle, std::uint8_t device, std::uint64_t flags);
  // Not interned: a later fact with the same key stands beside the earlier one, and readers take the last.
  void fact(std::string_view key, std::string_view value);
  // Not interned either; 0 when it could not be written. A path that is too long is cut.
  std::uint32_t object(const LoadedObject& object);

  // A layer's dotted name, cut to what fits; the number of bytes. For what is said while the program runs.
  std::size_t path_text(std::uint32_t id, std::span<char> out) const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> hash;  // 0: free; written last
    const Slot* record;
  };
  // Open addressing; entries are never removed.
  class Table {
   public:
    bool reserve();
    template <class Matches>
    const Slot* find(std::uint64_t hash, Matches matches) const;
    bool insert(std::uint64_t hash, const Slot* record);

   private:
    static constexpr std::size_t kEntries = std::size_t{1} << 20;
    Entry* entries_ = nullptr;
    std::size_t used_ = 0;
  };

  template <class Matches, class Write>
  std::uint32_t intern(Table& table, std::uint64_t hash, Matches matches, Write write);
  template <class R>
  Slot* write_text(R head, std::string_view first, std::string_view second = {});
  template <class R>
  Slot* write_fixed(const R& record);
  Slot* space(std::size_t slots);
  const Slot* record_of(std::uint32_t id, Tag tag) const;

  File* file_ = nullptr;
  SpinLock lock_;
  Slot *at_ = nullptr, *end_ = nullptr;
  std::uint32_t next_id_ = 1;
  static constexpr std::size_t kIndexed = std::size_t{1} << 22;
  const Slot** by_id_ = nullptr;
  Table strings_, paths_, stacks_, streams_;
};

}  // namespace tidemark::trace
