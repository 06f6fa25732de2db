# SPDX-License-Identifier: Apache-2.0
# Behind every name: the number of the name lies on top of the caller's return address.
    .text
    .globl fake_note
    .hidden fake_note
    .hidden fake_noted
    .p2align 4
fake_note:
    subq $208, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r10, 56(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movq 208(%rsp), %rdi
    movq %rsp, %rsi
    leaq 224(%rsp), %rdx
    call fake_noted
    addq $216, %rsp
    xorl %eax, %eax
    ret
    .section .note.GNU-stack, "", @progbits
