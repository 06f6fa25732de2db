// SPDX-License-Identifier: Apache-2.0
// CPU bodies of kernels: where they come from and how they are run.
#pragma once
#include <string>

#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

// Opens SOFTGPU_KERNELS, else PROGRAM.softgpu.so beside the program, and settles whether this is a dry run. The answer
// is the reason, for a person. A file that is named or stands there and cannot be used is an error: a dry run in its
// place would give meaningless values to somebody who asked for right ones.
Result<std::string> load_kernel_libraries(Driver& driver);
const SoftgpuKernel* find_body(std::string_view mangled);
const SoftgpuSymbol* find_symbol(std::string_view name);
// Variables of device code begin anew with their context. One process has one copy of each, whatever its devices.
void restore_symbols();

// Which parameters are pointers, as far as a mangled name tells. Empty when it does not.
std::vector<SoftgpuParam> params_from_name(const std::string& mangled);
// Runs all blocks on the device's workers; a fault inside becomes the answer.
CUresult run_kernel(const KernelOp& op);

}  // namespace tidemark::softgpu
