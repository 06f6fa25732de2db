// SPDX-License-Identifier: Apache-2.0
// What is said when an allocation fails: on stderr (once a second at most: some programs try until it works) and in the
// trace (every time, the text with those that were said).
#pragma once
#include <cstdint>

#include "trace/format/words.h"

namespace tidemark::interpose {

struct Refusal {
  const char* call = "";  // as the program knows it
  std::uint64_t size_bytes = 0;
  trace::Class block_class = trace::Class::Device;
  std::uint8_t device = 0;
  bool has_context = false;
  int error = 0;
};
// Behind the shield. It looks through all live blocks; nothing comes from the program's heap.
void report_refusal(const Refusal& refusal);

}  // namespace tidemark::interpose
