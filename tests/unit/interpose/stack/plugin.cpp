// SPDX-License-Identifier: Apache-2.0
// A library with one function, which calls what it is given. Built with frames of different sizes, the return address
// is at the same place: a rule that was learnt in one is wrong in the other.
#define STRING(x) #x
#define TEXT(x) STRING(x)

asm(R"(
    .text
    .globl plugin_run
    .type plugin_run, @function
plugin_run:
    .cfi_startproc
    subq $)" TEXT(FRAME) R"(, %rsp
    .cfi_adjust_cfa_offset )" TEXT(FRAME) R"(
    call *%rdi
    addq $)" TEXT(FRAME) R"(, %rsp
    .cfi_adjust_cfa_offset -)" TEXT(FRAME) R"(
    ret
    .cfi_endproc
    .size plugin_run, . - plugin_run
)");

// Runs while the library is being opened.
extern "C" {
extern __attribute__((weak)) void (*plugin_constructor_calls)();

void plugin_run(void (*call)());
}
namespace {
[[gnu::constructor]] void in_constructor() {
  if (&plugin_constructor_calls != nullptr && plugin_constructor_calls != nullptr) plugin_run(plugin_constructor_calls);
}
}  // namespace
