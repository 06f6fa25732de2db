// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {

Judged cross_entropy(const Numbers& logits, const std::vector<std::int32_t>& targets, Rows shape) {
  Judged judged;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    Numbers const row(logits.begin() + static_cast<std::ptrdiff_t>(r * shape.width),
                      logits.begin() + static_cast<std::ptrdiff_t>((r + 1) * shape.width));
    Numbers const p = softmax(row);
    judged.probabilities.insert(judged.probabilities.end(), p.begin(), p.end());
    judged.losses.push_back(targets[r] < 0 ? 0 : -std::log(p[static_cast<std::size_t>(targets[r])]));
  }
  return judged;
}

Judged mask_loss(const Numbers& logits, const std::vector<std::uint8_t>& targets, Rows shape) {
  Judged judged;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    double entropy = 0, both = 0, either = 0;
    for (std::size_t i = r * shape.width; i < (r + 1) * shape.width; ++i) {
      double const p = 1 / (1 + std::exp(-logits[i]));
      judged.probabilities.push_back(p);
      entropy -= targets[i] ? std::log(p) : std::log(1 - p);
      both += targets[i] ? p : 0;
      either += p + targets[i];
    }
    judged.losses.push_back(entropy / static_cast<double>(shape.width) + 1 - (2 * both + 1) / (either + 1));
  }
  return judged;
}

Numbers sum_to_channels(const Numbers& x, ChannelShape shape) {
  Numbers sums(shape.channels);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / shape.inner % shape.channels] += x[i];
  return sums;
}

}  // namespace tidemark::kernels::reference
