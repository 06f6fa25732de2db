// SPDX-License-Identifier: Apache-2.0
// Why an allocation failed, out of a few numbers. Pure: the same numbers always give the same verdict.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

struct Shortage {
  std::uint64_t wanted_bytes = 0;
  std::uint64_t total_bytes = 0;     // the card's, or the limit's; 0: not known
  std::uint64_t free_bytes = 0;      // on the device
  std::uint64_t live_bytes = 0;      // this program's blocks
  std::uint64_t reserved_bytes = 0;  // what the device has given for them
  std::uint64_t cached_bytes = 0;    // of that, kept free by pools or by a framework's allocator
  std::uint64_t others_bytes = 0;    // of other processes
};

enum class Verdict : unsigned char {
  TooLarge,       // more than the whole card
  Fragmentation,  // the bytes are there, in pieces that are too small
  Others,         // without the other processes there would be room
  Shortage,       // the program needs more than there is
  Refused,        // there is far more than it needs, and the driver said no
};

// What blocks take beyond their bytes, since the driver gives whole granules: nobody can use it.
constexpr std::uint64_t rounding_bytes(const Shortage& s) {
  std::uint64_t const known = s.live_bytes + s.cached_bytes;
  return s.reserved_bytes > known ? s.reserved_bytes - known : 0;
}
// How much more there would have to be.
constexpr std::uint64_t short_bytes(const Shortage& s) {
  std::uint64_t const there = s.free_bytes + s.cached_bytes;
  return s.wanted_bytes > there ? s.wanted_bytes - there : 0;
}

inline constexpr std::uint64_t kClearlyEnough = std::uint64_t{32} << 20;

constexpr Verdict judge(const Shortage& s) {
  if (s.total_bytes != 0 && s.wanted_bytes > s.total_bytes) return Verdict::TooLarge;
  // A card's pages can be anywhere: pieces are no reason where so much is free.
  if (s.free_bytes / 2 >= s.wanted_bytes + kClearlyEnough) return Verdict::Refused;
  // Free bytes count too: a driver that had them in one piece would have given them.
  if (short_bytes(s) == 0) return Verdict::Fragmentation;
  if (s.others_bytes >= short_bytes(s) && s.others_bytes >= s.reserved_bytes) return Verdict::Others;
  return Verdict::Shortage;
}

}  // namespace tidemark::interpose
