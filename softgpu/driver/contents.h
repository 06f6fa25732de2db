// SPDX-License-Identifier: Apache-2.0
// What a context owns.
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// Frees the memory, events, arrays and modules that were made in the context.
void free_contents(Call& call, CUcontext context);
// One block leaves: the right window or map, the device's bill, the checker.
void release_block(Driver& driver, Block* block);

}  // namespace tidemark::softgpu
