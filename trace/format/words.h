// SPDX-License-Identifier: Apache-2.0
// The words that trace, reports and viewer share. Their numbers are part of the format: append, never renumber.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::trace {

// What a block is made of, and so which account it is on.
enum class Class : std::uint8_t {
  Device,       // cudaMalloc and its kin
  Pool,         // stream-ordered, from a memory pool
  Managed,      // cudaMallocManaged; resident where it was touched last
  Pinned,       // page-locked host memory
  Registered,   // the program's own host memory, page-locked later
  Array,        // opaque layout; `address` is its handle
  Physical,     // cuMemCreate; `address` is its handle
  Reservation,  // cuMemAddressReserve: addresses, no bytes
  Mapping,      // cuMemMap: a physical block seen at an address
  Imported,     // somebody else's bytes
  Graph,        // allocated by a node of a CUDA graph
  Tensor,       // a framework's block inside memory that it holds
};

enum class Kind : std::uint8_t {
  Other,
  Parameter,
  Gradient,
  Optimizer,
  Activation,
  Buffer,
  Input,
  Workspace,
  Temporary
};

enum class Phase : std::uint8_t { Other, Setup, Forward, Backward, Optimizer, Eval };

// Why an event is not in the trace.
enum class Loss : std::uint8_t {
  NoSpace,    // the disk or a limit on the file's size
  Reentered,  // inside a signal handler that interrupted the recorder
  NoThread,   // a thread so late in its end that it has no place of its own
  Failed,     // anything else inside the recorder
};
inline constexpr std::size_t kLossCount = 4;

// How a recorded call stack ends.
enum class StackEnd : std::uint8_t {
  Whole,    // with the thread's first function
  Cut,      // it was deeper than what is kept
  NoTable,  // at code that does not say how to go on: made at run time, or written by hand
};

inline constexpr std::array<std::string_view, 12> kClassNames{"device",     "pool",     "managed",  "pinned",
                                                              "registered", "array",    "physical", "reservation",
                                                              "mapping",    "imported", "graph",    "tensor"};
inline constexpr std::array<std::string_view, 9> kKindNames{
    "other", "parameter", "gradient", "optimizer", "activation", "buffer", "input", "workspace", "temporary"};
inline constexpr std::array<std::string_view, 6> kPhaseNames{"other",    "setup",     "forward",
                                                             "backward", "optimizer", "eval"};
inline constexpr std::array<std::string_view, kLossCount> kLossNames{"no space", "re-entered", "no thread", "failed"};

// A value from a file may be one that this program does not know yet.
template <std::size_t n, class E>
constexpr std::string_view name_in(const std::array<std::string_view, n>& names, E value) {
  auto const i = static_cast<std::size_t>(value);
  return i < n ? names[i] : std::string_view("unknown");
}
constexpr std::string_view name(Class c) {
  return name_in(kClassNames, c);
}
constexpr std::string_view name(Kind k) {
  return name_in(kKindNames, k);
}
constexpr std::string_view name(Phase p) {
  return name_in(kPhaseNames, p);
}
constexpr std::string_view name(Loss l) {
  return name_in(kLossNames, l);
}

template <class E, std::size_t n>
constexpr std::optional<E> find_in(const std::array<std::string_view, n>& names, std::string_view text) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return std::nullopt;
}
constexpr std::optional<Kind> find_kind(std::string_view text) {
  return find_in<Kind>(kKindNames, text);
}
constexpr std::optional<Phase> find_phase(std::string_view text) {
  return find_in<Phase>(kPhaseNames, text);
}

// Whether a block's bytes are on the device's bill and in its live bytes.
constexpr bool on_device(Class c) {
  return c == Class::Device || c == Class::Pool || c == Class::Array || c == Class::Physical || c == Class::Graph;
}

// Where a block's address is a name: within one space it names at most one live block. A mapping begins where its
// reservation begins, and handles are numbers of their own.
enum class Space : std::uint8_t { Memory, Array, Physical, Reservation, Mapping, Tensor };
inline constexpr std::size_t kSpaceCount = 6;
constexpr Space space_of(Class c) {
  switch (c) {
    case Class::Array: return Space::Array;
    case Class::Physical: return Space::Physical;
    case Class::Reservation: return Space::Reservation;
    case Class::Mapping: return Space::Mapping;
    case Class::Tensor: return Space::Tensor;
    default: return Space::Memory;
  }
}

}  // namespace tidemark::trace
