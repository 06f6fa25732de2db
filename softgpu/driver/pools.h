// SPDX-License-Identifier: Apache-2.0
// Memory pools behind their handles.
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// The device's default pool, made at first use. nullptr: no address space.
CUmemoryPool default_pool(Driver& driver, Device& device);

}  // namespace tidemark::softgpu
