/* SPDX-License-Identifier: Apache-2.0 */
/* What each of the libraries in this folder exports beside CUDA's names. A test finds these by dlsym in the library it
 * means. Every function notes what it was called with and returns 0, unless it is overridden. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_STACK_WORDS = 8 };

typedef struct FakeCall {
  const char* symbol;
  int handed_out; /* 1: called by the address that cuGetProcAddress gave */
  uint64_t integer[6];
  uint64_t rax, r10;
  double vector[8][2];
  uint64_t stack[FAKE_STACK_WORDS]; /* the arguments there */
} FakeCall;

/* The calls since fake_forget, the last one at *last. Of the calling thread. */
int fake_calls(FakeCall* last);
void fake_forget(void);
/* Another function in the place of a name, null for none; gives back the one before. */
void* fake_override(const char* symbol, void* function);
/* What the library itself finds under a name, by a handle of its own. */
void* fake_looks_up(const char* library, const char* symbol);

#ifdef __cplusplus
}
#endif
