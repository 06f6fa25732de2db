// SPDX-License-Identifier: Apache-2.0
// The shape of attention. The input is [time][query, key, value], each of `width` channels in `heads` parts; a head's
// matrix begins at its part and has rows of 3 * width.
#pragma once
#include <cmath>

#include "samples/trainer/op.h"

namespace tidemark::trainer {

struct Heads {
  std::size_t length = 0, width = 0, heads = 0, part = 0;
  std::size_t scores() const { return heads * length * length; }  // of a sample
};
inline Heads heads_of(const Sizing& s) {
  const Shape& out = s.output();
  std::size_t const heads = s.node.attributes.heads;
  return {.length = out.size[0], .width = out.size[1], .heads = heads, .part = out.size[1] / heads};
}
inline float score_scale(const Heads& h) {
  return 1.0f / std::sqrt(static_cast<float>(h.part));
}

}  // namespace tidemark::trainer
