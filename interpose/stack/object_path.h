// SPDX-License-Identifier: Apache-2.0
// Where a loaded file lies. The dynamic linker keeps the name that it was asked for, which may be relative to a folder
// that the program has left since, and none at all for the program itself.
#pragma once
#include <link.h>

#include <cstdint>
#include <string_view>

namespace tidemark::interpose {

// Valid until the next call; one thread at a time. No cancellation point, nothing from the heap.
std::string_view object_path(const link_map& object, std::uintptr_t begin);

}  // namespace tidemark::interpose
