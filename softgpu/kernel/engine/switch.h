// SPDX-License-Identifier: Apache-2.0
// The stack switch: saves what the calling convention says a call preserves, exchanges the stack pointer, goes on where
// the other stack left off. No system call (ucontext makes two per switch): docs/decisions/0003-fibers.md.
#pragma once

extern "C" {
// Leaves the running stack (its pointer goes to *save) and continues the one whose pointer is `load`.
void softgpu_switch_stack(void** save, void* load);
// Where a new stack begins: calls softgpu_stack_main and never returns.
void softgpu_stack_entry();
[[noreturn]] void softgpu_stack_main();
}

namespace tidemark::softgpu {

// The stack pointer of a stack that, when switched to, starts in softgpu_stack_main. `top` is aligned to 16.
void* prepare_stack(void* top);

}  // namespace tidemark::softgpu
