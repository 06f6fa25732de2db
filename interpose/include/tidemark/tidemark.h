/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks that a program may set to tell tidemark what it is doing. C99 and later, C++; include it, link nothing:
 *
 *     tidemark_push(TIDEMARK_PHASE, "forward");
 *     tidemark_push(TIDEMARK_LAYER, "encoder.3.attn");
 *     cudaMalloc(&scores, bytes);                                   // belongs to encoder.3.attn, forward
 *     tidemark_tag(scores, TIDEMARK_ACTIVATION, "scores");
 *     tidemark_pop(TIDEMARK_LAYER);
 *
 * Without libtidemark.so in the process the names are absent and the calls do nothing. (The names are weak: that needs
 * position-independent code, which compilers make unless told -fno-pic.) Marks are kept per thread; a call costs
 * nanoseconds; any thread may call at any time.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a mark is about. */
enum { TIDEMARK_LAYER = 1, TIDEMARK_PHASE = 2 };

/* What a block is for. */
enum {
  TIDEMARK_OTHER = 0,
  TIDEMARK_PARAMETER = 1,
  TIDEMARK_GRADIENT = 2,
  TIDEMARK_OPTIMIZER = 3,
  TIDEMARK_ACTIVATION = 4,
  TIDEMARK_BUFFER = 5,
  TIDEMARK_INPUT = 6,
  TIDEMARK_WORKSPACE = 7,
  TIDEMARK_TEMPORARY = 8
};

#define TIDEMARK_WEAK __attribute__((weak))

/*
 * Opens a layer or a phase until tidemark_pop. A layer's name is a dotted path; inside another layer it is taken as a
 * part of it, unless it begins with the other's name. Phases: setup, forward, backward, optimizer, eval, other.
 */
TIDEMARK_WEAK void tidemark_push(int what, const char* name);
TIDEMARK_WEAK void tidemark_pop(int what);
/* From here on, for all threads, it is this step: one update of the optimizer. */
TIDEMARK_WEAK void tidemark_step(uint64_t step);
/* Says what a live block is. The name may be NULL. */
TIDEMARK_WEAK void tidemark_tag(const void* block, int kind, const char* name);
/* Gives memory that is cached and not in use back to the device. */
TIDEMARK_WEAK void tidemark_empty_cache(void);

#ifdef __cplusplus
}
#endif

/* The library itself defines the names; everybody else calls them only where they are. */
#ifndef TIDEMARK_IMPLEMENTATION
#define tidemark_push(what, name) (tidemark_push ? tidemark_push((what), (name)) : (void)0)
#define tidemark_pop(what) (tidemark_pop ? tidemark_pop((what)) : (void)0)
#define tidemark_step(step) (tidemark_step ? tidemark_step((step)) : (void)0)
#define tidemark_tag(block, kind, name) (tidemark_tag ? tidemark_tag((block), (kind), (name)) : (void)0)
#define tidemark_empty_cache() (tidemark_empty_cache ? tidemark_empty_cache() : (void)0)
#endif
