// SPDX-License-Identifier: Apache-2.0
#include "interpose/oom/page.h"

#include <stdio.h>

namespace tidemark::interpose {

void Page::line(const char* format, ...) {
  std::size_t const space = sizeof text_ - length_;
  va_list arguments;
  va_start(arguments, format);
  int const n = vsnprintf(text_ + length_, space, format, arguments);
  va_end(arguments);
  if (n < 0 || static_cast<std::size_t>(n) + 1 >= space) {
    text_[length_] = '\0';
    return;
  }
  length_ += static_cast<std::size_t>(n);
  text_[length_++] = '\n';
}

}  // namespace tidemark::interpose
