// SPDX-License-Identifier: Apache-2.0
// Random API sequences against the model of sequence.h. CONFORMANCE_SEQUENCES says how many, CONFORMANCE_SEED which is
// the first; a failure prints how to run that one alone.
#include <cstdlib>
#include <string>

#include "tests/conformance/random/sequence.h"

namespace conformance {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string setting(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::string(variable) + "=" + text + " " : "";
}

std::string how_to_repeat(std::uint64_t seed) {
  return "rerun this one: " + setting("LD_LIBRARY_PATH") + setting("SOFTGPU_SCHEDULE") + setting("SOFTGPU_DRY_RUN") +
         setting("SOFTGPU_CHECK") + setting("SOFTGPU_MEMORY") + "CONFORMANCE_SEED=" + std::to_string(seed) +
         " CONFORMANCE_SEQUENCES=1 conformance_random";
}

TEST(RandomApi, AgreesWithTheModel) {
  std::uint64_t const first = number_from("CONFORMANCE_SEED", 1);
  std::uint64_t const count = number_from("CONFORMANCE_SEQUENCES", 100);
  constexpr int kSteps = 60;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(how_to_repeat(seed));
    Sequence sequence(seed);
    sequence.run(kSteps);
    sequence.finish();
    if (HasFailure()) return;
  }
  std::printf("%llu sequences of %d calls\n", static_cast<unsigned long long>(count), kSteps);
}

}  // namespace
}  // namespace conformance
