// SPDX-License-Identifier: Apache-2.0
// The software device's checker sees blocks inside of mappings only if it is told of them. Without it, or with it off,
// these do nothing.
#pragma once
#include <cstdint>

namespace tidemark::interpose::serve {

struct Cache;
struct KnownStream;

bool has_checker();
// With a stream: in its order; without: at once, or, while there is one stream alone, in that one's order.
void tell_checker_served(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream);
// Without a stream, and while there are several under way, nothing is told: what they may still use is free when they
// are done, and then it is handed out again.
void tell_checker_freed(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream);

}  // namespace tidemark::interpose::serve
