// SPDX-License-Identifier: Apache-2.0
// Equations from the headers, checked in dev builds: TIDEMARK_INVARIANT(live + cached == reserved);
#pragma once
#ifdef TIDEMARK_INVARIANTS
#include <cstdio>
#include <cstdlib>
#define TIDEMARK_INVARIANT(...)                                                                \
  do {                                                                                         \
    if (!(__VA_ARGS__)) {                                                                      \
      std::fprintf(stderr, "%s:%d: invariant broken: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::abort();                                                                            \
    }                                                                                          \
  } while (0)
#else
#define TIDEMARK_INVARIANT(...) static_cast<void>(0)
#endif
