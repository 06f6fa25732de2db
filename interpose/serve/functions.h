// SPDX-License-Identifier: Apache-2.0
// What the allocator is given of the driver, and how it is set up: the limit and the account are kept where it takes
// memory and gives it back, and captures are left in peace.
#pragma once
#include <cstdint>

#include "allocator/core/allocator.h"
#include "allocator/cuda/functions.h"
#include "interpose/real/cuda.h"

namespace tidemark::interpose::serve {

allocator::DriverFunctions driver_functions();
allocator::Options allocator_options(std::uint64_t device_bytes);

}  // namespace tidemark::interpose::serve
