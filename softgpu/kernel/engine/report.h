// SPDX-License-Identifier: Apache-2.0
// Lines on stderr about a kernel that went wrong.
#pragma once
#include <string_view>

#include "softgpu/kernel/engine/runtime.h"

namespace tidemark::softgpu {

// "softgpu: <text>", in one write.
void say_line(std::string_view text);
// The same with the kernel's readable name and the running block and thread in front.
void say_fault(const BlockJob& job, std::string_view what);

}  // namespace tidemark::softgpu
