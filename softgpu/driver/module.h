// SPDX-License-Identifier: Apache-2.0
// Code images, their kernels and variables.
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// The kernel behind a CUfunction, or behind a CUkernel passed in its place. nullptr: neither.
CUkernel kernel_of(Call& call, CUfunction function);
// Reads what the library's image says of its code (static_shared_bytes, thread_limit, launches, architecture), once.
void read_facts(CUlibrary library);
// A file's bytes and a zero behind them.
std::optional<std::vector<std::byte>> read_file(const char* path);
void unload_library(Driver& driver, CUlibrary library);

}  // namespace tidemark::softgpu
