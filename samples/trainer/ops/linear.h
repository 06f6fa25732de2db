// SPDX-License-Identifier: Apache-2.0
// The three products of a linear layer over some rows. Its weight is [out][in], the call's first parameter.
#pragma once
#include "samples/trainer/ops/rules.h"

namespace tidemark::trainer {

struct LinearRows {
  std::size_t rows = 0, in = 0, out = 0;
};

// y [rows][out] = x W'
inline void multiply_rows(Call& call, const LinearRows& s, const void* x, void* y, Type result_type) {
  call.device.multiply({.rows = s.rows,
                        .columns = s.out,
                        .depth = s.in,
                        .a = x,
                        .b = call.weight[0],
                        .c = y,
                        .lda = s.in,
                        .ldb = s.in,
                        .ldc = s.out,
                        .transpose_b = true,
                        .type = call.type(),
                        .result_type = result_type});
}
// dx [rows][in] = dy W
inline void multiply_to_input(Call& call, const LinearRows& s, const void* dy, void* dx) {
  call.device.multiply({.rows = s.rows,
                        .columns = s.in,
                        .depth = s.out,
                        .a = dy,
                        .b = call.weight[0],
                        .c = dx,
                        .lda = s.out,
                        .ldb = s.in,
                        .ldc = s.in,
                        .type = call.type(),
                        .result_type = call.type()});
}
// dW = dy' x, or is added to what is there.
inline void multiply_to_weight(Call& call, const LinearRows& s, const void* dy, const void* x, bool add) {
  call.device.multiply({.rows = s.out,
                        .columns = s.in,
                        .depth = s.rows,
                        .a = dy,
                        .b = x,
                        .c = call.dparameter[0],
                        .lda = s.out,
                        .ldb = s.in,
                        .ldc = s.in,
                        .transpose_a = true,
                        .beta = add ? 1.0f : 0.0f,
                        .type = call.type()});
}

}  // namespace tidemark::trainer
