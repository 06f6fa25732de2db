// SPDX-License-Identifier: Apache-2.0
// A page of text in a buffer of its own: what does not fit is left out at a line's end.
#pragma once
#include <stdarg.h>

#include <cstddef>
#include <string_view>

namespace tidemark::interpose {

class Page {
 public:
  // As printf; a line that does not fit whole is not written at all.
  __attribute__((format(printf, 2, 3))) void line(const char* format, ...);
  std::string_view text() const { return {text_, length_}; }

 private:
  char text_[4000] = {};
  std::size_t length_ = 0;
};

}  // namespace tidemark::interpose
