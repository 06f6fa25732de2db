// SPDX-License-Identifier: Apache-2.0
// All test kernels and symbols, for registration and for the comparison with what nvcc makes of the same source.
#pragma once
#include "tests/unit/softgpu/kernel/bodies/basic.h"
#include "tests/unit/softgpu/kernel/bodies/fault.h"
#include "tests/unit/softgpu/kernel/bodies/math.h"
#include "tests/unit/softgpu/kernel/bodies/special.h"
#include "tests/unit/softgpu/kernel/bodies/sync.h"

#define TEST_KERNELS(X)                 \
  X(record_index)                       \
  X(affine<float, 1>)                   \
  X(affine<double, 3>)                  \
  X(reverse_block<float, 100>)          \
  X(reverse_block<unsigned char, 37>)   \
  X(reverse_dynamic<int>)               \
  X(reverse_dynamic<double>)            \
  X(sum_large)                          \
  X(no_parameters)                      \
  X(plain_c_name)                       \
  X(static_kernel)                      \
  X(unnamed_kernel)                     \
  X(unnamed_template<int>)              \
  X(named::inner::nested_kernel)        \
  X(named::inner::nested_static_kernel) \
  X(use_symbols)                        \
  X(read_unwritten_shared)              \
  X(block_sum<float>)                   \
  X(block_sum<unsigned long long>)      \
  X(vote_in_block)                      \
  X(barrier_after_exit)                 \
  X(leave_one_by_one)                   \
  X(shuffle_all<int>)                   \
  X(shuffle_all<unsigned>)              \
  X(shuffle_all<float>)                 \
  X(shuffle_all<double>)                \
  X(shuffle_all<long long>)             \
  X(shuffle_all<unsigned long long>)    \
  X(shuffle_all<__half>)                \
  X(vote_in_warp)                       \
  X(reduce_in_warp)                     \
  X(diverge)                            \
  X(active_in_branches)                 \
  X(count_coalesced)                    \
  X(tile_sums)                          \
  X(tiles_in_tiles)                     \
  X(pass_round_grid)                    \
  X(leave_before_grid)                  \
  X(touch_atomics)                      \
  X(spin_lock)                          \
  X(sum_by_last_block)                  \
  X(wait_for_thread)                    \
  X(half2_functions)                    \
  X(print_and_time)                     \
  X(trap_in)                            \
  X(assert_below)                       \
  X(divergent_barrier)                  \
  X(different_calls)                    \
  X(mask_without_caller)                \
  X(recurse)                            \
  X(store_to)

#define TEST_FLAT_KERNELS(X)       \
  X(vector_add)                    \
  X(integer_functions)             \
  X(float_functions)               \
  X(half_functions<__half>)        \
  X(half_functions<__nv_bfloat16>) \
  X(special_functions)             \
  X(rarer_intrinsics)              \
  X(vector_types)                  \
  X(barrier_if)                    \
  X(shuffle_if)                    \
  X(divide_by)                     \
  X(overrun_shared)

#define TEST_SYMBOLS(X) \
  X(device_counter)     \
  X(constant_table)     \
  X(constant_numbers)   \
  X(static_counter)     \
  X(unnamed_counter)    \
  X(named::nested_value)
