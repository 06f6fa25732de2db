// SPDX-License-Identifier: Apache-2.0
#include "analysis/savings/savings.h"

namespace tidemark::analysis {

std::string exactness_name(Exactness exactness) {
  switch (exactness) {
    case Exactness::Baseline: return "baseline";
    case Exactness::Bits: return "bit-identical";
    case Exactness::PinnedBits: return "bit-identical-pinned";
    case Exactness::Tolerance: return "tolerance";
    case Exactness::OtherModel: return "changes-model";
  }
  return "";
}

std::uint64_t article_peak_bytes(const ArticleTerms& t, std::uint64_t batch) {
  return t.element_bytes * (t.parameters * t.copies + batch * (2 * t.outputs + t.input));
}

std::uint64_t article_max_batch(const ArticleTerms& t, std::uint64_t budget_bytes) {
  std::uint64_t const fixed = article_peak_bytes(t, 0), sample = article_peak_bytes(t, 1) - fixed;
  return budget_bytes < fixed || sample == 0 ? 0 : (budget_bytes - fixed) / sample;
}

}  // namespace tidemark::analysis
