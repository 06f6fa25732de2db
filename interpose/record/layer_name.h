// SPDX-License-Identifier: Apache-2.0
// A layer's path as a person reads it, in a buffer of its own: nothing comes from the program's heap.
#pragma once
#include <stdio.h>

#include <cstdint>

#include "interpose/record/recorder.h"

namespace tidemark::interpose {

struct LayerName {
  char text[160] = {};
  explicit LayerName(std::uint32_t path) {
    std::size_t const n = recorder().names().path_text(path, {text, sizeof text - 1});
    if (n == 0) snprintf(text, sizeof text, "(unscoped)");
    // Names are the program's; a terminal would obey some of what may be in them.
    for (char* c = text; *c != '\0'; ++c)
      if (static_cast<unsigned char>(*c) < 0x20 || *c == 0x7f) *c = ' ';
  }
};

}  // namespace tidemark::interpose
