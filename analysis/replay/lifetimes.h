// SPDX-License-Identifier: Apache-2.0
// What a program asked of its allocator, without where it was put: the input of a replay.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidemark::analysis {

struct Lifetimes {
  struct Operation {
    std::uint32_t block;  // in `bytes`
    bool free;
  };
  std::vector<std::uint64_t> bytes;  // requested, by block
  std::vector<Operation> operations;

  std::uint64_t peak_live_bytes() const;  // rounded to 512 B, as live bytes are everywhere
};

// A trace (.tide), or the table op,id,bytes,stream,t_us (also as .gz), where op is b (was there before), a (allocated),
// r (free requested) or f (free completed).
Result<Lifetimes> read_lifetimes(const std::string& path);

}  // namespace tidemark::analysis
