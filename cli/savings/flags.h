// SPDX-License-Identifier: Apache-2.0
// The trainer's flags as a set: what is given later replaces what was given before, and a value may be reckoned from
// the model's own (--seq $seq/2).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemark::cli {

using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

// "seq=1024 layers=12"
Numbers read_numbers(std::string_view text);

class Flags {
 public:
  // Words with spaces between them: "--optimizer adam --inplace --seq $seq/2 --image $side/2x$side/2".
  Result<void> add(std::string_view text, const Numbers& numbers);
  void set(std::string_view name, std::string_view value);
  std::vector<std::string> words() const;
  std::string text() const;
  bool has(std::string_view name) const;
  std::string_view value(std::string_view name) const;
  auto operator<=>(const Flags&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> all_;  // in the order in which they were first given
};

}  // namespace tidemark::cli
