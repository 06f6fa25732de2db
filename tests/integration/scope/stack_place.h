// SPDX-License-Identifier: Apache-2.0
// A program's own account of where it is: each function notes itself and the line of its next call, and a block is
// printed with the account, innermost first: "1000 allocate:12 layer:34 …".
#pragma once
#include <cstdio>

struct Place {
  Place(const char* function, int line) {
    if (depth < 64) account[depth] = {function, line};
    ++depth;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { --depth; }

  static void print(std::size_t bytes) {
    std::printf("%zu", bytes);
    for (int i = depth; i > 0; --i) std::printf(" %s:%d", account[i - 1].function, account[i - 1].line);
    std::printf("\n");
  }

  struct Line {
    const char* function;
    int line;
  };
  static inline thread_local Line account[64];
  static inline thread_local int depth = 0;
};
// On the line before a call.
#define HERE Place const place(__func__, __LINE__ + 1)
