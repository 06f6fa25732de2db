// SPDX-License-Identifier: Apache-2.0
// Whose an address is, for those who need to know nothing else of serving, and no header of CUDA's.
#pragma once
#include <cstdint>

namespace tidemark::interpose::serve {

// Whether an address belongs to the allocator, in whatever state.
bool is_ours(std::uint64_t address);

}  // namespace tidemark::interpose::serve
