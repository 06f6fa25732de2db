// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/markup.h"

#include "analysis/report/words.h"

namespace tidemark::analysis::report {

std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : clean(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace tidemark::analysis::report
