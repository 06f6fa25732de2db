// SPDX-License-Identifier: Apache-2.0
// The default pools that served blocks stand in for: what they say of themselves counts those blocks, and once a
// program does with one what only the driver can, its memory is the driver's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "interpose/real/driver.h"

namespace tidemark::interpose::serve {

// Whether memory in a stream's order on the current device would come from its default pool, as far as that is ours.
bool default_pool_is_served();
// The current pool of some device may be another one now.
void pools_changed();
// What was set only the driver's own blocks could follow.
void pool_is_special(CUmemoryPool pool);

void trim_pool(CUmemoryPool pool, std::size_t keep_bytes);
// Corrects what the driver answered.
void correct_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
// A mark was put back, or a way of using memory again was forbidden: that only the driver's own blocks can follow.
void attribute_set(CUmemoryPool pool, CUmemPool_attribute attribute, const void* value);

}  // namespace tidemark::interpose::serve
