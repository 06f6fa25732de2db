// SPDX-License-Identifier: Apache-2.0
// What the bodies and the tests exchange.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct IndexRecord {
  unsigned thread[3], block[3], block_dim[3], grid_dim[3];
};

struct Affine {
  double scale;
  int pad[5];
  char offset;
};

template <class T>
struct Inner {
  T value;
};

template <class T, unsigned N>
struct Outer {
  T items[N];
};

struct LargeArgument {
  unsigned words[8000];
};

template <class T>
struct ShuffleResults {
  T indexed, up, down, exchanged;
};

struct VoteResults {
  unsigned ballot, any, all, same, all_same_mask, all_same, active;
};

struct ReduceResults {
  unsigned add, least, most, conjunction, disjunction, parity;
  int signed_add, signed_least, signed_most;
};

struct Atomics {
  int sum, difference, least, most, conjunction, disjunction, parity, exchanged;
  unsigned unsigned_sum, ring_up, ring_down, unsigned_least;
  unsigned long long wide_sum, wide_most, wide_or;
  long long signed_wide_least;
  float float_sum, float_exchanged;
  double double_sum, spin_sum;
  __half half_sum;
  __half2 half2_sum;
  __nv_bfloat16 brain_sum;
  unsigned lock;
  unsigned short short_swapped;
};

struct IntegerResults {
  int population, leading, first, wide_population, wide_leading, wide_first, product24, high, average, rounded_average,
      dot;
  unsigned reversed, permuted, left, left_clamped, right, right_clamped, unsigned_product24, unsigned_high, distance,
      unsigned_distance;
  unsigned long long wide_reversed, unsigned_wide_high;
  long long wide_high;
};

struct FloatResults {
  float add_rn, add_rz, add_ru, add_rd, mul_rn, mul_rz, div_rn, div_ru, root_rd, fma_rz, saturated, reciprocal_root,
      fast_exp, least, most, narrowed_rz, from_int_rd;
  int to_int_rn, to_int_rz, to_int_ru, to_int_rd, bits;
  unsigned to_uint_rz;
  long long to_ll_rn;
};

template <class H>
struct HalfResults {
  H sum, difference, product, quotient, fused, root, exponential, rounded;
  int whole_ru;
};

struct SpecialResults {
  double erf_inverse, erfc_inverse, normal_inverse, erfc_scaled, bessel_0, bessel_1, norm, reciprocal_norm, norm_4,
      reciprocal_norm_3, quotient;
  float erf_inverse_float, norm_float;
};

struct RarerResults {
  int dot_low, dot_high;
  unsigned unsigned_dot_low, unsigned_dot_high, found;
  unsigned long long most;
  __nv_bfloat16 rounded_rz, rounded_ru, rounded_rd, wide_ru;
  __half2 complex;
};
