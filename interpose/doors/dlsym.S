# SPDX-License-Identifier: Apache-2.0
# dlsym, in front of glibc's. For a name that is hooked the filter gives the answer; for every other name this jumps to
# glibc's function with the caller's own return address on the stack, since RTLD_NEXT means "after the caller": a
# wrapper in C would make every other preloaded library find itself.
    .text
    .globl tidemark_hook_dlsym
    .hidden tidemark_hook_dlsym
    .type tidemark_hook_dlsym, @function
    .p2align 4
tidemark_hook_dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $24, %rsp                  # 16 bytes for the answer, and the stack is aligned again
    .cfi_adjust_cfa_offset 24
    movq 40(%rsp), %rdx             # the caller
    movq %rsp, %rcx                 # where the answer goes
    call tidemark_dlsym_filter
    movq (%rsp), %r10
    addq $24, %rsp
    .cfi_adjust_cfa_offset -24
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testl %eax, %eax
    jz 1f
    movq %r10, %rax                 # answered
    ret
1:  jmp *%r10                       # glibc's own
    .cfi_endproc
    .size tidemark_hook_dlsym, . - tidemark_hook_dlsym
    .section .note.GNU-stack, "", @progbits
