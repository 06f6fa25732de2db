// SPDX-License-Identifier: Apache-2.0
// Names of rows, made shorter by what they share: of thirty layers that are called alike but for a number, the number
// is what a reader looks for.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tidemark::analysis::report {

struct Room {
  std::size_t columns = 0;
  bool unicode = true;
};

// Cleaned names, in their order. While one of them takes more columns than there are, dotted parts that it has in
// common with others of its shape give way to an ellipsis, in all of them alike; a number stays with the part before
// it. Names that differ stay different. What nothing can be left out of stays too long.
std::vector<std::string> without_what_is_shared(const std::vector<std::string>& names, Room room);

}  // namespace tidemark::analysis::report
