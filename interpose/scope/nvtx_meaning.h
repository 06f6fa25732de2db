// SPDX-License-Identifier: Apache-2.0
// What a range's message means to us (docs/decisions/0011-nvtx.md): a layer, a phase, a step, or nothing.
//
// Pure; called for every range that is opened.
#pragma once
#include <cstdint>
#include <string_view>

#include "trace/format/words.h"

namespace tidemark::interpose {

struct NvtxMeaning {
  enum What : std::uint8_t { Nothing, Layer, Phase, Step };
  What what = Nothing;
  trace::Phase phase = trace::Phase::Other;  // of a Phase
  std::uint64_t step = 0;                    // of a Step
  std::string_view layer = {};               // of a Layer: a part of the message
  friend bool operator==(const NvtxMeaning&, const NvtxMeaning&) = default;
};

NvtxMeaning nvtx_meaning(std::string_view message);
// Whether a domain belongs to a library that marks each of its calls: its ranges are nobody's layers.
bool nvtx_domain_is_a_librarys(std::string_view name);

}  // namespace tidemark::interpose
