// SPDX-License-Identifier: Apache-2.0
// The loaded files whose code was seen on a stack: written into the trace at first sight, so that a reader finds the
// functions after the run. Nothing is resolved in the program.
//
// One thread at a time. No lock of the dynamic linker is taken and nothing comes from the heap: an object with code on
// the caller's stack cannot go away meanwhile, so its link map may be read.
#pragma once
#include <dlfcn.h>

#include <cstdint>

#include "trace/write/dictionary.h"

namespace tidemark::interpose {

class Objects {
 public:
  constexpr Objects() = default;

  // Makes sure that the object is in the trace. `found` is the dynamic linker's answer for one of its addresses.
  void note(const dl_find_object& found, trace::Dictionary& names, std::uint64_t ticks);
  // How many objects have taken addresses of others.
  std::uint32_t replaced() const { return replaced_; }

 private:
  struct Known {
    std::uint64_t begin, end, bias;
    std::uint64_t content;  // path and build id
  };
  static constexpr std::size_t kMost = 4096;
  bool make_way_for(const Known& fresh);

  Known* known_ = nullptr;
  std::size_t count_ = 0;
  std::uint32_t replaced_ = 0;
};

}  // namespace tidemark::interpose
