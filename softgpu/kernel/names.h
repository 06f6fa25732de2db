// SPDX-License-Identifier: Apache-2.0
// One spelling for the names of kernels and device variables, whichever compiler made them.
//
// For everything with external linkage nvcc and the host compiler mangle alike. They differ for internal linkage:
//   static void k(int*)            host _ZL1kPi                      nvcc _Z1kPi
//   static int v  (at file scope)  host _ZL1v                        nvcc v
//   namespace { void k(int*); }    host _ZN12_GLOBAL__N_11kEPi       nvcc _ZN36_GLOBAL__N__<hash>_4_n_cu_<hash>1kEPi
//   namespace { int v; }           host _ZN12_GLOBAL__N_11vE         nvcc
//   _ZN34_INTERNAL_<hash…>36_GLOBAL__N__<hash…>1vE
// canonical_name() maps both columns to one text. What it gives up is the file: two anonymous kernels of one name and
// type in two files of a program cannot be told apart, and registration says so.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark::softgpu {

namespace names {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A source name ("4anon") at `at`: the number of its digits and of its characters; zero characters when there is none.
struct SourceName {
  std::size_t digits = 0, length = 0;
};
constexpr SourceName source_name(std::string_view s, std::size_t at) {
  SourceName found;
  while (at + found.digits < s.size() && is_digit(s[at + found.digits]) && found.length < s.size())
    found.length = found.length * 10 + static_cast<std::size_t>(s[at + found.digits++] - '0');
  return at + found.digits + found.length <= s.size() ? found : SourceName{};
}

// Ends like nvcc's mark of a file: an underscore and eight hexadecimal digits.
constexpr bool ends_with_hash(std::string_view s) {
  return s.size() > 9 && s[s.size() - 9] == '_' &&
         s.substr(s.size() - 8).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// nvcc names an unnamed namespace after the file, and wraps variables in one more; the host compiler does neither.
// The length stands before the mark, but digits of what comes earlier may stand before that: the mark's end decides.
inline void replace_marks(std::string& s, std::string_view mark, std::string_view with) {
  for (std::size_t at = s.find(mark); at != std::string::npos; at = s.find(mark, at + 1))
    for (std::size_t digits = 2; digits <= 3 && digits <= at; ++digits) {
      SourceName const name = source_name(s, at - digits);
      if (name.digits != digits || !ends_with_hash(std::string_view(s).substr(at, name.length))) continue;
      s.replace(at - digits, digits + name.length, with);
      at -= digits;
      break;
    }
}

}  // namespace names

inline std::string canonical_name(std::string_view mangled) {
  std::string s(mangled);
  if (!s.starts_with("_Z")) return s;
  names::replace_marks(s, "_INTERNAL_", "");
  names::replace_marks(s, "_GLOBAL__N__", "12_GLOBAL__N_1");
  // Internal linkage is an 'L' before the last part of the name: at the front, or after the enclosing namespaces.
  std::size_t at = 2;
  if (s[at] == 'N') {
    ++at;
    for (auto part = names::source_name(s, at); part.length != 0; part = names::source_name(s, at))
      at += part.digits + part.length;
  }
  if (at + 1 >= s.size() || s[at] != 'L' || !names::is_digit(s[at + 1])) return s;
  s.erase(at, 1);
  // A variable at file scope has no mangled name at all: "_Z1v" is "v".
  names::SourceName const whole = names::source_name(s, 2);
  if (at == 2 && 2 + whole.digits + whole.length == s.size()) return s.substr(2 + whole.digits);
  return s;
}

}  // namespace tidemark::softgpu
