# SPDX-License-Identifier: Apache-2.0
# The way around of a door (order.S, generated): shows the arguments to tidemark_order_enter, and jumps to the function
# that it gives back with registers and stack as they came. On entry the door's number lies on top of the caller's return
# address.
    .text
    .globl tidemark_order_around
    .hidden tidemark_order_around
    .hidden tidemark_order_enter
    .type tidemark_order_around, @function
    .p2align 4
    .set frame, 208                 # sizeof(Arguments): 6 + 2 words, 8 vectors, 1 word, 1 to keep the stack aligned
tidemark_order_around:
    .cfi_startproc
    .cfi_adjust_cfa_offset 8        # the number
    subq $frame, %rsp
    .cfi_adjust_cfa_offset frame
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r10, 56(%rsp)
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    leaq frame + 16(%rsp), %rax     # over the number and the return address: the caller's arguments
    movq %rax, 192(%rsp)
    movq frame(%rsp), %rdi
    movq %rsp, %rsi
    call tidemark_order_enter
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 56(%rsp), %r10
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    addq $frame + 8, %rsp
    .cfi_adjust_cfa_offset -frame - 8
    jmp *%r11
    .cfi_endproc
    .size tidemark_order_around, . - tidemark_order_around
    .section .note.GNU-stack, "", @progbits
