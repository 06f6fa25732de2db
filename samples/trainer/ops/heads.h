// SPDX-License-Identifier: Apache-2.0
// The shape of attention. The input is [time][query, key, value], each of `width` channels in `heads` parts; a head's
// matrix begins at its part and has rows of 3 * width.
#pragma once
#include <cmath>

#include "kernels/elementwise.h"
#include "samples/trainer/ops/rules.h"

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

// Probabilities are dropped in training alone. A sample's are [head][time][time]; masks are drawn, not kept.
inline bool drops_scores(const Call& call) {
  return call.training && call.node().attributes.rate > 0;
}
inline kernels::Dropout dropout_of_scores(const Call& call, std::size_t sample) {
  return {.rate = call.node().attributes.rate,
          .random = {.seed = call.seed,
                     .purpose = kNodePurpose + node_number(call),
                     .step = static_cast<std::uint32_t>(call.step)},
          .first = (call.first_sample + sample) * heads_of(call.sizing).scores()};
}

}  // namespace tidemark::trainer
