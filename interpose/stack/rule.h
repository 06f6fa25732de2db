// SPDX-License-Identifier: Apache-2.0
// How to get from a function's frame to its caller's: what the unwinding tables say of one place in the code, packed
// into one word so that it can be kept and read without a lock.
//
// Of all registers only the stack pointer and rbp are followed. On x86-64 nothing else is needed in code that compilers
// make, except in rare prologues; those are Complex and are left to the compiler's own unwinder.
#pragma once
#include <bit>
#include <cstdint>

namespace tidemark::interpose {

struct Rule {
  enum Kind : std::uint64_t {
    Unknown,    // no table covers the place
    Frame,      // the fields below tell
    Signal,     // the kernel's frame of a signal handler: the interrupted registers are in it
    Outermost,  // nobody called this
    Complex,
  };
  // The canonical frame address is the caller's stack pointer; the return address lies just below it.
  enum Cfa : std::uint64_t { FromRsp, FromRbp, AtRbp };  // rsp + offset, rbp + offset, [rbp + offset]
  enum Rbp : std::uint64_t {
    Kept,
    SavedFromCfa,
    SavedFromRbp
  };  // the caller's: the same, [cfa + offset], [rbp + offset]

  std::uint64_t kind : 3 = Unknown, cfa : 2 = FromRsp, rbp : 2 = Kept, ours : 1 = 0;
  std::int64_t cfa_offset : 32 = 0, rbp_offset : 24 = 0;

  std::uint64_t word() const { return std::bit_cast<std::uint64_t>(*this); }
  static Rule of(std::uint64_t word) { return std::bit_cast<Rule>(word); }
  friend bool operator==(const Rule& a, const Rule& b) { return a.word() == b.word(); }
};
static_assert(sizeof(Rule) == 8);

}  // namespace tidemark::interpose
