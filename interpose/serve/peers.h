// SPDX-License-Identifier: Apache-2.0
// Which devices may use which context's memory. For blocks of cudaMalloc's the driver knows; mapped memory has to be
// told, what there is and what will come.
#pragma once
#include <cstdint>

#include "interpose/real/driver.h"

namespace tidemark::interpose::serve {

struct Cache;

// The current context may (or may no longer) use the memory of `owner`.
void peer_access_changed(CUcontext owner, bool enabled);
// A cache that begins to serve a context: whoever was let in before it.
void let_peers_in(Cache& cache);
void forget_peers_of(std::uint64_t context);

}  // namespace tidemark::interpose::serve
