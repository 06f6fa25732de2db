// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace tidemark {
namespace {

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// How many letters must be put in, left out, changed or swapped with their neighbour; case does not count.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      bool const same = upper(a[i - 1]) == upper(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0u : 1u)});
      bool const swapped = i > 1 && j > 1 && upper(a[i - 1]) == upper(b[j - 2]) && upper(a[i - 2]) == upper(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> known, std::size_t prefix) {
  constexpr std::size_t kLongest = 64;  // nobody types that
  std::string_view const word = name.substr(std::min(prefix, name.size()));
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = 1 + std::max<std::size_t>(1, word.size() / 3);  // farther away it is another word
  for (std::string_view const candidate : known) {
    std::string_view const other = candidate.substr(prefix);
    std::size_t const shortened = other.starts_with(word) && word.size() >= 3 ? 1 : distance(word, other);
    if (shortened < least) {
      least = shortened;
      best = candidate;
    }
  }
  return best;
}

std::vector<UnknownVariable> unknown_variables(const char* const* environment, std::string_view prefix,
                                               std::span<const std::string_view> known) {
  std::vector<UnknownVariable> unknown;
  for (; *environment != nullptr; ++environment) {
    std::string_view const entry = *environment;
    std::string_view const name = entry.substr(0, entry.find('='));
    if (!name.starts_with(prefix) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    unknown.push_back({std::string(name), nearest(name, known, prefix.size())});
  }
  return unknown;
}

}  // namespace tidemark
