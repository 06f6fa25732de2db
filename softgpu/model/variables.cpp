// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/variables.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tidemark::softgpu {
namespace {

constexpr std::string_view kPrefix = "SOFTGPU_";
constexpr std::array<std::string_view, 18> kKnown = {
    "SOFTGPU_BLAS_THREADS",   "SOFTGPU_CHECK",    "SOFTGPU_CLOCK",   "SOFTGPU_CONTEXT", "SOFTGPU_DEVICES",
    "SOFTGPU_DRIVER_VERSION", "SOFTGPU_DRY_COPY", "SOFTGPU_DRY_RUN", "SOFTGPU_FAULT",   "SOFTGPU_KERNELS",
    "SOFTGPU_KERNEL_TIME",    "SOFTGPU_MEMORY",   "SOFTGPU_PROFILE", "SOFTGPU_QUIET",   "SOFTGPU_SCHEDULE",
    "SOFTGPU_SHARE",          "SOFTGPU_STACK",    "SOFTGPU_WORKERS"};

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

std::string_view nearest_to(std::string_view name) {
  std::string_view const word = name.substr(kPrefix.size());
  if (word.empty()) return {};
  std::string_view best;
  std::size_t least = 1 + std::max<std::size_t>(1, word.size() / 3);  // farther away it is another word
  for (std::string_view const known : kKnown) {
    std::string_view const other = known.substr(kPrefix.size());
    std::size_t const shortened = other.starts_with(word) && word.size() >= 3 ? 1 : distance(word, other);
    if (shortened < least) {
      least = shortened;
      best = known;
    }
  }
  return best;
}

}  // namespace

std::span<const std::string_view> known_variables() {
  return kKnown;
}

std::vector<UnknownVariable> unknown_variables(const char* const* environment) {
  std::vector<UnknownVariable> unknown;
  for (; *environment != nullptr; ++environment) {
    std::string_view const entry = *environment;
    std::string_view const name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
    unknown.push_back({std::string(name), nearest_to(name)});
  }
  return unknown;
}

}  // namespace tidemark::softgpu
