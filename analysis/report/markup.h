// SPDX-License-Identifier: Apache-2.0
// What pages and pictures share: text that cannot become markup, and the colours of kinds.
#pragma once
#include <array>
#include <string>
#include <string_view>

namespace tidemark::analysis::report {

// Cleaned, with & < > " written as entities.
std::string escaped(std::string_view text);

// In the order of every stack. Okabe and Ito's colours, which eyes of every kind tell apart.
struct KindColour {
  std::string_view name, colour;
};
inline constexpr std::array kKindColours = {
    KindColour{"parameter", "#0072b2"},  KindColour{"optimizer", "#cc79a7"}, KindColour{"gradient", "#e69f00"},
    KindColour{"activation", "#009e73"}, KindColour{"input", "#f0e442"},     KindColour{"buffer", "#999999"},
    KindColour{"temporary", "#d55e00"},  KindColour{"workspace", "#56b4e9"}, KindColour{"other", "#6e7076"}};

}  // namespace tidemark::analysis::report
