// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/reference.h"

namespace tidemark::kernels::reference {

Normalized normalize(const Numbers& x, const std::vector<std::size_t>& group, const std::vector<std::size_t>& channel,
                     const Numbers& gamma, const Numbers& beta) {
  std::size_t const groups = *std::max_element(group.begin(), group.end()) + 1;
  Normalized result{.y = x, .mean = Numbers(groups), .variance = Numbers(groups)};
  Numbers count(groups);
  for (std::size_t i = 0; i < x.size(); ++i) result.mean[group[i]] += x[i], count[group[i]] += 1;
  for (std::size_t k = 0; k < groups; ++k) result.mean[k] /= count[k];
  for (std::size_t i = 0; i < x.size(); ++i)
    result.variance[group[i]] += std::pow(x[i] - result.mean[group[i]], 2) / count[group[i]];
  for (std::size_t i = 0; i < x.size(); ++i)
    result.y[i] = (x[i] - result.mean[group[i]]) / std::sqrt(result.variance[group[i]] + 1e-5) * gamma[channel[i]] +
                  beta[channel[i]];
  return result;
}

}  // namespace tidemark::kernels::reference
