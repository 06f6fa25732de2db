// SPDX-License-Identifier: Apache-2.0
// What the libraries of this process say about who manages its memory.
#pragma once
#include <cstdint>
#include <string>

namespace tidemark::interpose::serve {

// How many objects the linker has loaded so far.
std::uint64_t objects_loaded();
// Why memory is better left alone: a framework with a caching allocator of its own, or somebody who hands memory to
// other processes, which only a whole block of the driver's can be. Empty: nothing speaks against it.
std::string reason_to_observe();

}  // namespace tidemark::interpose::serve
