// SPDX-License-Identifier: Apache-2.0
// Chunks of the file as things to be handed around: where each is, and rows of them. Not thread-safe; of a ring only.
#pragma once
#include <cstdint>

#include "base/reserved.h"
#include "trace/format/layout.h"

namespace tidemark::trace {

// A chunk to write to: its head is written when it is published, its slots are zero.
struct Chunk {
  ChunkHeader* header = nullptr;
  std::uint32_t index = 0;  // its place in the file
  Slot* begin() const { return reinterpret_cast<Slot*>(header + 1); }
  Slot* end() const { return begin() + kChunkSlots; }
  explicit operator bool() const { return header != nullptr; }
};

// Every chunk of the file, by its place.
class Places {
 public:
  constexpr Places() = default;
  // False when the system gives no memory.
  bool start(std::size_t most) {
    places_ = reinterpret_cast<Place*>(Reserved::map(most * sizeof(Place)).release());
    most_ = places_ == nullptr ? 0 : most;
    return places_ != nullptr;
  }
  std::size_t most() const { return most_; }
  void set(Chunk chunk) { places_[chunk.index].header = chunk.header; }
  Chunk at(std::uint32_t index) const { return {places_[index].header, index}; }
  // The one behind it in its list.
  Chunk after(Chunk chunk) const { return at(places_[chunk.index].next); }

 private:
  friend class ChunkList;
  struct Place {
    ChunkHeader* header;
    std::uint32_t next;  // in the list that it is in; 0: the last
  };
  Place* places_ = nullptr;
  std::size_t most_ = 0;
};

// First in, first out. A chunk is in one list at most; place 0, the file's head, is in none.
class ChunkList {
 public:
  constexpr ChunkList() = default;
  std::size_t size() const { return count_; }
  void push(Places& places, std::uint32_t index) {
    places.places_[index].next = 0;
    (count_ == 0 ? first_ : places.places_[last_].next) = index;
    last_ = index;
    ++count_;
  }
  Chunk front(const Places& places) const { return count_ == 0 ? Chunk{} : places.at(first_); }
  Chunk pop(const Places& places) {
    if (count_ == 0) return {};
    Chunk const chunk = places.at(first_);
    first_ = places.places_[first_].next;
    --count_;
    return chunk;
  }
  template <class F>
  void for_each(const Places& places, F f) const {
    std::uint32_t at = first_;
    for (std::size_t i = 0; i < count_; ++i) {
      f(places.at(at));
      at = places.places_[at].next;
    }
  }

 private:
  std::uint32_t first_ = 0, last_ = 0;
  std::size_t count_ = 0;
};

}  // namespace tidemark::trace
