// SPDX-License-Identifier: Apache-2.0
// The pitch that the driver gives to rows of a width: learnt from its own answers, since only it knows the rule.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tidemark::interpose::serve {

struct Row {
  std::size_t width_bytes = 0;
  unsigned int element_bytes = 0;
  std::uint8_t device = 0;

  bool operator==(const Row&) const = default;
};
// 0: not known yet.
std::size_t known_pitch(const Row& row);
void learn_pitch(const Row& row, std::size_t pitch_bytes);

}  // namespace tidemark::interpose::serve
