// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// The managed block that holds the whole range, which is not empty; nullptr: there is none.
Block* managed_block(Driver& driver, CUdeviceptr address, std::size_t bytes);

}  // namespace tidemark::softgpu
