// SPDX-License-Identifier: Apache-2.0
// The software device's checker sees blocks inside of mappings only if it is told of them. Without it, or with it off,
// these do nothing.
#pragma once
#include <cstdint>

namespace tidemark::interpose::serve {

struct KnownStream;

// With a stream: in its order; without: at once.
void tell_checker_served(std::uint64_t address, std::uint64_t bytes, const KnownStream* stream);
void tell_checker_freed(std::uint64_t address, std::uint64_t bytes, const KnownStream* stream);

}  // namespace tidemark::interpose::serve
