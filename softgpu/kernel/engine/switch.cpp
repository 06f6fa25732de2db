// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/switch.h"

#include <cstdint>
#include <cstring>

// A return, not an indirect jump: where the switch is called, a jump leaves the processor's return stack one entry off
// for the returns that follow (a shuffle: 28 instead of 18 ns).
// The unwinder stops at softgpu_stack_entry: its return address is declared undefined.
#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl softgpu_switch_stack
  .hidden softgpu_switch_stack
  .type softgpu_switch_stack, @function
softgpu_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size softgpu_switch_stack, .-softgpu_switch_stack

  .globl softgpu_stack_entry
  .hidden softgpu_stack_entry
  .type softgpu_stack_entry, @function
softgpu_stack_entry:
  .cfi_startproc
  .cfi_undefined rip
  callq softgpu_stack_main
  ud2
  .cfi_endproc
  .size softgpu_stack_entry, .-softgpu_stack_entry
)");
namespace {
// Six registers and the entry, which is popped too: 9 words leave the pointer aligned at the entry's own call.
constexpr int kEntryWord = 6, kFrameWords = 9;
}  // namespace
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .globl softgpu_switch_stack
  .hidden softgpu_switch_stack
  .type softgpu_switch_stack, %function
softgpu_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
  .size softgpu_switch_stack, .-softgpu_switch_stack

  .globl softgpu_stack_entry
  .hidden softgpu_stack_entry
  .type softgpu_stack_entry, %function
softgpu_stack_entry:
  .cfi_startproc
  .cfi_undefined x30
  bl softgpu_stack_main
  brk #1
  .cfi_endproc
  .size softgpu_stack_entry, .-softgpu_stack_entry
)");
namespace {
constexpr int kEntryWord = 11, kFrameWords = 20;
}  // namespace
#else
#error "softgpu runs kernel bodies on x86-64 and AArch64: a stack switch for this processor is missing"
#endif

namespace tidemark::softgpu {

void* prepare_stack(void* top) {
  auto* frame = static_cast<std::uintptr_t*>(top) - kFrameWords;
  std::memset(frame, 0, kFrameWords * sizeof *frame);
  frame[kEntryWord] = reinterpret_cast<std::uintptr_t>(&softgpu_stack_entry);
  return frame;
}

}  // namespace tidemark::softgpu
