// SPDX-License-Identifier: Apache-2.0
// A cursor over encoded bytes that never passes their end: what does not fit reads as zero and is remembered.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidemark::interpose {

// DW_EH_PE_…: the low four bits are the form, the next three what it is relative to, the highest one more load.
enum Encoding : std::uint8_t {
  kAbsolute = 0x00,
  kUleb = 0x01,
  kUdata2 = 0x02,
  kUdata4 = 0x03,
  kUdata8 = 0x04,
  kSleb = 0x09,
  kSdata2 = 0x0a,
  kSdata4 = 0x0b,
  kSdata8 = 0x0c,
  kFromHere = 0x10,
  kFromData = 0x30,
  kOmitted = 0xff,
};

class ByteReader {
 public:
  ByteReader(const std::byte* at, const std::byte* end) : at_(at), end_(end) {}

  bool ok() const { return ok_; }
  bool done() const { return at_ >= end_; }
  const std::byte* at() const { return at_; }
  const std::byte* end() const { return end_; }

  template <class T>
  T fixed() {
    T value{};
    if (const std::byte* const from = take(sizeof value)) std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint64_t uleb() { return leb().value; }
  std::int64_t sleb() {
    Leb const read = leb();
    std::uint64_t const sign = read.negative && read.bits < 64 ? ~std::uint64_t{0} << read.bits : 0;
    return static_cast<std::int64_t>(read.value | sign);
  }
  // A pointer in one of the encodings above; `data` is what kFromData is relative to.
  std::uintptr_t pointer(std::uint8_t encoding, const std::byte* data) {
    auto const here = reinterpret_cast<std::uintptr_t>(at_);
    std::uintptr_t value = plain(encoding & 0x0f);
    switch (encoding & 0xf0) {
      case 0: break;
      case kFromHere: value += here; break;
      case kFromData: value += reinterpret_cast<std::uintptr_t>(data); break;
      default: ok_ = false; break;  // one more load, or a base that x86-64 does not use
    }
    return value;
  }
  void skip(std::uint64_t bytes) { take(bytes); }

 private:
  struct Leb {
    std::uint64_t value;
    unsigned bits;
    bool negative;
  };
  Leb leb() {
    Leb read{};
    for (std::uint8_t byte = 0x80; (byte & 0x80) != 0 && ok_; read.bits += 7) {
      byte = fixed<std::uint8_t>();
      if (read.bits < 64) read.value |= std::uint64_t{byte & 0x7fu} << read.bits;
      read.negative = (byte & 0x40) != 0;
    }
    return read;
  }
  std::uintptr_t plain(std::uint8_t form) {
    switch (form) {
      case kAbsolute:
      case kUdata8:
      case kSdata8: return fixed<std::uint64_t>();
      case kUdata2: return fixed<std::uint16_t>();
      case kUdata4: return fixed<std::uint32_t>();
      case kSdata2: return static_cast<std::uintptr_t>(fixed<std::int16_t>());
      case kSdata4: return static_cast<std::uintptr_t>(fixed<std::int32_t>());
      case kUleb: return uleb();
      case kSleb: return static_cast<std::uintptr_t>(sleb());
      default: ok_ = false; return 0;
    }
  }
  const std::byte* take(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
      ok_ = false;
      at_ = end_;
      return nullptr;
    }
    const std::byte* const from = at_;
    at_ += bytes;
    return from;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace tidemark::interpose
