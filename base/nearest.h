// SPDX-License-Identifier: Apache-2.0
// The word that was probably meant: for names that are typed, and for settings that would silently not be there.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

// Of the known names the one that is most like `name`; empty where none is. The first `prefix` letters, which all have
// in common, do not count, nor does case.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known, std::size_t prefix = 0);

struct UnknownVariable {
  std::string name;
  std::string_view nearest;  // empty: it is like none
};
// Those that begin with `prefix` and are not known. environment: "NAME=value", a null pointer at the end, as environ.
std::vector<UnknownVariable> unknown_variables(const char* const* environment, std::string_view prefix,
                                               std::span<const std::string_view> known);

}  // namespace tidemark
