// SPDX-License-Identifier: Apache-2.0
// Address space that costs memory only where it is touched: a zeroed anonymous mapping without reservation.
// Owns its mapping; movable; not thread-safe by itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tidemark {

class Reserved {
 public:
  Reserved() = default;
  // An empty object (data() == nullptr) when the system refuses.
  static Reserved map(std::size_t bytes);
  Reserved(Reserved&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reserved& operator=(Reserved&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Reserved();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data_); }
  std::uintptr_t end() const { return begin() + bytes_; }
  bool contains(std::uintptr_t address) const { return address - begin() < bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

  // Takes over a mapping that release() let go of.
  static Reserved adopt(std::byte* data, std::size_t bytes) {
    Reserved r;
    r.data_ = data;
    r.bytes_ = bytes;
    return r;
  }
  // Lets go of the mapping: it stays until the process ends, or somebody adopts it.
  std::byte* release() {
    bytes_ = 0;
    return std::exchange(data_, nullptr);
  }
  // Forgets the contents of whole pages inside the range: they read as zero again and cost nothing.
  void discard(std::size_t offset, std::size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A zero-initialised array in Reserved memory.
template <class T>
class ReservedArray {
 public:
  ReservedArray() = default;
  explicit ReservedArray(std::size_t count) : memory_(Reserved::map(count * sizeof(T))) {}
  T& operator[](std::size_t i) { return reinterpret_cast<T*>(memory_.data())[i]; }
  const T& operator[](std::size_t i) const { return reinterpret_cast<const T*>(memory_.data())[i]; }
  explicit operator bool() const { return static_cast<bool>(memory_); }
  std::size_t size() const { return memory_.bytes() / sizeof(T); }

 private:
  Reserved memory_;
};

}  // namespace tidemark
