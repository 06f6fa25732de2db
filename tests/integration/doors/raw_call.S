# SPDX-License-Identifier: Apache-2.0
# int raw_call(void* function, const RawArguments*): calls with exactly these registers and words on the stack.
    .text
    .globl raw_call
    .hidden raw_call
    .p2align 4
raw_call:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdi, %r11
    .set i, 7
    .rept 8
    pushq 192 + 8 * i(%rsi)
    .set i, i - 1
    .endr
    movups 64(%rsi), %xmm0
    movups 80(%rsi), %xmm1
    movups 96(%rsi), %xmm2
    movups 112(%rsi), %xmm3
    movups 128(%rsi), %xmm4
    movups 144(%rsi), %xmm5
    movups 160(%rsi), %xmm6
    movups 176(%rsi), %xmm7
    movq 0(%rsi), %rdi
    movq 16(%rsi), %rdx
    movq 24(%rsi), %rcx
    movq 32(%rsi), %r8
    movq 40(%rsi), %r9
    movq 48(%rsi), %rax
    movq 56(%rsi), %r10
    movq 8(%rsi), %rsi
    call *%r11
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .section .note.GNU-stack, "", @progbits
