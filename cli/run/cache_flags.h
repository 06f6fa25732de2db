// SPDX-License-Identifier: Apache-2.0
// What `tidemark run` takes for the caching allocator, as it is written: the library reads it from the environment.
#pragma once
#include <string>

#include "base/result.h"

namespace tidemark::cli {

class Arguments;

struct CacheFlags {
  std::string round, cache_cap, trim_after;
  bool poison = false, check_frees = false, whole_blocks = false;
};

void declare(Arguments& arguments, CacheFlags& flags);
// By the rules that the library reads by: what it would refuse is said before the program runs.
Result<void> check(const CacheFlags& flags, const std::string& mode);

}  // namespace tidemark::cli
