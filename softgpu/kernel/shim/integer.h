// SPDX-License-Identifier: Apache-2.0
// Integer intrinsics, and min and max as CUDA overloads them.
#pragma once
#include <vector_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}

inline unsigned __brev(unsigned x) {
  x = __builtin_bswap32(x);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

// Each hexadecimal digit of the selector picks a byte of y:x; its top bit spreads that byte's sign instead.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  std::uint64_t const bytes = static_cast<std::uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned const digit = selector >> 4 * i & 0xf;
    auto const byte = static_cast<unsigned>(bytes >> 8 * (digit & 7) & 0xff);
    unsigned const picked = digit & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte;
    result |= picked << 8 * i;
  }
  return result;
}

// The 64-bit number high:low, shifted; l keeps the upper half, r the lower. The plain forms wrap the shift at 32, the
// c forms clamp it to 32.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32 | low) << (shift < 32 ? shift : 32)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift < 32 ? shift : 32));
}

inline int __mul24(int x, int y) {
  auto const low24 = [](int v) { return std::int64_t{static_cast<std::int32_t>(static_cast<unsigned>(v) << 8) >> 8}; };
  return static_cast<int>(static_cast<std::uint32_t>(low24(x) * low24(y)));
}
inline unsigned __umul24(unsigned x, unsigned y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
inline int __mulhi(int x, int y) {
  return static_cast<int>((std::int64_t{x} * y) >> 32);
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} * y) >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  __extension__ using Wide = __int128;
  return static_cast<long long>((Wide{x} * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>((Wide{x} * y) >> 64);
}

inline unsigned __usad(unsigned x, unsigned y, unsigned z) {
  return z + (x > y ? x - y : y - x);
}
inline unsigned __sad(int x, int y, unsigned z) {
  std::int64_t const difference = std::int64_t{x} - y;
  return z + static_cast<unsigned>(difference < 0 ? -difference : difference);
}
// Averages without overflow; r rounds up.
inline int __hadd(int x, int y) {
  return static_cast<int>((std::int64_t{x} + y) >> 1);
}
inline int __rhadd(int x, int y) {
  return static_cast<int>((std::int64_t{x} + y + 1) >> 1);
}
inline unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y + 1) >> 1);
}

// Four products of bytes, added.
inline int __dp4a(int x, int y, int add) {
  auto sum = static_cast<std::uint32_t>(add);
  for (int i = 0; i < 4; ++i)
    sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(x >> 8 * i) * static_cast<std::int8_t>(y >> 8 * i));
  return static_cast<int>(sum);
}
inline unsigned __dp4a(unsigned x, unsigned y, unsigned add) {
  for (int i = 0; i < 4; ++i) add += (x >> 8 * i & 0xff) * (y >> 8 * i & 0xff);
  return add;
}

inline int __dp4a(char4 x, char4 y, int add) {
  return __dp4a(std::bit_cast<int>(x), std::bit_cast<int>(y), add);
}
inline unsigned __dp4a(uchar4 x, uchar4 y, unsigned add) {
  return __dp4a(std::bit_cast<unsigned>(x), std::bit_cast<unsigned>(y), add);
}
// Two products of a 16-bit part of x with a byte of y: its lower bytes, or its upper ones.
#define SOFTGPU_DP2A(name, shift)                                                                \
  inline int name(int x, int y, int add) {                                                       \
    auto sum = static_cast<std::uint32_t>(add);                                                  \
    for (int i = 0; i < 2; ++i)                                                                  \
      sum += static_cast<std::uint32_t>(static_cast<std::int16_t>(x >> 16 * i) *                 \
                                        static_cast<std::int8_t>(y >> ((shift) + 8 * i)));       \
    return static_cast<int>(sum);                                                                \
  }                                                                                              \
  inline unsigned name(unsigned x, unsigned y, unsigned add) {                                   \
    for (int i = 0; i < 2; ++i) add += (x >> 16 * i & 0xffff) * (y >> ((shift) + 8 * i) & 0xff); \
    return add;                                                                                  \
  }                                                                                              \
  inline int name(short2 x, char4 y, int add) {                                                  \
    return name(std::bit_cast<int>(x), std::bit_cast<int>(y), add);                              \
  }                                                                                              \
  inline unsigned name(ushort2 x, uchar4 y, unsigned add) {                                      \
    return name(std::bit_cast<unsigned>(x), std::bit_cast<unsigned>(y), add);                    \
  }
SOFTGPU_DP2A(__dp2a_lo, 0)
SOFTGPU_DP2A(__dp2a_hi, 16)
#undef SOFTGPU_DP2A

// The offset-th set bit, counted from the base bit upwards (downwards when negative); 0: the base bit itself.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  constexpr unsigned kNone = 0xffffffffu;
  auto at = static_cast<int>(base);
  if (offset == 0) return base < 32 && mask >> base & 1 ? base : kNone;
  int const step = offset > 0 ? 1 : -1;
  for (int left = offset > 0 ? offset : -offset; at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && --left == 0) return static_cast<unsigned>(at);
  return kNone;
}

namespace tidemark::softgpu {
template <class A, class B>
concept Numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;
}  // namespace tidemark::softgpu

// Of different types the common one is meant (int and unsigned: unsigned); of floating types, a NaN gives way.
template <class A, class B>
requires tidemark::softgpu::Numbers<A, B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  T const x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(x, y);
  else
    return y < x ? y : x;
}
template <class A, class B>
requires tidemark::softgpu::Numbers<A, B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  T const x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(x, y);
  else
    return x < y ? y : x;
}
inline unsigned umin(unsigned a, unsigned b) {
  return b < a ? b : a;
}
inline unsigned umax(unsigned a, unsigned b) {
  return a < b ? b : a;
}
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return b < a ? b : a;
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}
inline long long llmin(long long a, long long b) {
  return b < a ? b : a;
}
inline long long llmax(long long a, long long b) {
  return a < b ? b : a;
}
