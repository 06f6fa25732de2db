// SPDX-License-Identifier: Apache-2.0
// How to get from a function's frame to its caller's: what the unwinding tables say of one place in the code, packed
// into one word so that it can be kept and read without a lock.
//
// Of all registers only the stack pointer and rbp are followed. On x86-64 nothing else is needed in code that compilers
// make, except in rare prologues; those are Complex and are left to the compiler's own unwinder.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

class Rule {
 public:
  enum Kind : std::uint8_t {
    Absent,     // it was not asked for yet
    Unknown,    // no table covers the place
    Frame,      // cfa and rbp tell
    Signal,     // the kernel's frame of a signal handler: the interrupted registers are in it
    Outermost,  // nobody called this
    Complex,
  };
  // The canonical frame address is the caller's stack pointer; the return address lies just below it.
  enum Cfa : std::uint8_t { FromRsp, FromRbp, AtRbp };  // rsp + offset, rbp + offset, [rbp + offset]
  enum Rbp : std::uint8_t {
    Kept,
    SavedFromCfa,
    SavedFromRbp
  };  // the caller's: the same, [cfa + offset], [rbp + offset]
  struct Parts {
    Kind kind = Absent;
    Cfa cfa = FromRsp;
    Rbp rbp = Kept;
    std::int64_t cfa_offset = 0;  // 32 bits of it
    std::int64_t rbp_offset = 0;  // 24
  };

  constexpr Rule() = default;
  constexpr explicit Rule(std::uint64_t word) : word_(word) {}
  constexpr Rule(Kind kind) : word_(kind) {}
  constexpr Rule(const Parts& p)
      : word_(std::uint64_t{p.kind} | std::uint64_t{p.cfa} << 3 | std::uint64_t{p.rbp} << 5 |
              (static_cast<std::uint64_t>(p.cfa_offset) & 0xffffffff) << 8 |
              static_cast<std::uint64_t>(p.rbp_offset) << 40) {}
  constexpr Rule of_our_own() const { return Rule(word_ | 1 << 7); }

  constexpr std::uint64_t word() const { return word_; }
  constexpr Kind kind() const { return static_cast<Kind>(word_ & 7); }
  constexpr Cfa cfa() const { return static_cast<Cfa>(word_ >> 3 & 3); }
  constexpr Rbp rbp() const { return static_cast<Rbp>(word_ >> 5 & 3); }
  constexpr bool ours() const { return (word_ & 1 << 7) != 0; }
  constexpr std::int64_t cfa_offset() const { return static_cast<std::int32_t>(word_ >> 8); }
  constexpr std::int64_t rbp_offset() const { return static_cast<std::int64_t>(word_) >> 40; }
  friend constexpr bool operator==(const Rule&, const Rule&) = default;

 private:
  // Shifts and not bit fields: compilers take a structure of those apart and put it together again on every copy.
  std::uint64_t word_ = 0;
};
static_assert(Rule(Rule::Parts{.kind = Rule::Frame, .cfa_offset = -8, .rbp_offset = -16}).cfa_offset() == -8);
static_assert(Rule(Rule::Parts{.kind = Rule::Frame, .cfa_offset = -8, .rbp_offset = -16}).rbp_offset() == -16);

}  // namespace tidemark::interpose
