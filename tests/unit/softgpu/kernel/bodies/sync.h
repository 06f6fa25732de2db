// SPDX-License-Identifier: Apache-2.0
// Barriers, warp operations, atomics.
#pragma once
#include "softgpu/kernel/cooperative.h"
#include "softgpu/kernel/portable.h"
#include "tests/unit/softgpu/kernel/bodies/types.h"

template <class T>
__global__ void block_sum(const T* in, T* out, int n) {
  __shared__ T part[1024];
  unsigned const t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < static_cast<unsigned>(n) ? in[i] : T(0);
  __syncthreads();
  unsigned width = 1;
  while (width < blockDim.x) width *= 2;
  for (unsigned step = width / 2; step > 0; step /= 2) {
    if (t < step && t + step < blockDim.x) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void vote_in_block(const int* in, int* count, int* all, int* any) {
  unsigned const t = threadIdx.x, n = blockDim.x;
  for (unsigned round = 0; round < 3; ++round) {
    int const vote = in[round * n + t];
    count[round * n + t] = __syncthreads_count(vote);
    all[round * n + t] = __syncthreads_and(vote);
    any[round * n + t] = __syncthreads_or(vote);
  }
}

// Threads from `stay` on return at once: a barrier does not wait for exited threads.
__global__ void barrier_after_exit(int* out, unsigned stay) {
  __shared__ int total;
  if (threadIdx.x >= stay) return;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, 1);
  __syncthreads();
  out[threadIdx.x] = total;
}

// Thread t leaves after round t.
__global__ void leave_one_by_one(int* rounds) {
  for (unsigned round = 0; round <= threadIdx.x; ++round) {
    rounds[threadIdx.x] += 1;
    __syncthreads();
  }
}

template <class T>
__global__ void shuffle_all(const T* in, ShuffleResults<T>* out, int arg, int width) {
  unsigned const t = threadIdx.x;
  out[t].indexed = __shfl_sync(0xffffffffu, in[t], arg, width);
  out[t].up = __shfl_up_sync(0xffffffffu, in[t], static_cast<unsigned>(arg), width);
  out[t].down = __shfl_down_sync(0xffffffffu, in[t], static_cast<unsigned>(arg), width);
  out[t].exchanged = __shfl_xor_sync(0xffffffffu, in[t], arg, width);
}

__global__ void vote_in_warp(const int* in, VoteResults* out) {
  unsigned const t = threadIdx.x;
  int same = 0;
  out[t].ballot = __ballot_sync(0xffffffffu, in[t]);
  out[t].any = static_cast<unsigned>(__any_sync(0xffffffffu, in[t]));
  out[t].all = static_cast<unsigned>(__all_sync(0xffffffffu, in[t]));
  out[t].same = __match_any_sync(0xffffffffu, in[t]);
  out[t].all_same_mask = __match_all_sync(0xffffffffu, in[t], &same);
  out[t].all_same = static_cast<unsigned>(same);
  __syncwarp();
  out[t].active = __activemask();
}

__global__ void reduce_in_warp(const unsigned* in, ReduceResults* out) {
  unsigned const t = threadIdx.x, mask = 0xffffffffu;
  out[t] = {__reduce_add_sync(mask, in[t]),
            __reduce_min_sync(mask, in[t]),
            __reduce_max_sync(mask, in[t]),
            __reduce_and_sync(mask, in[t]),
            __reduce_or_sync(mask, in[t]),
            __reduce_xor_sync(mask, in[t]),
            __reduce_add_sync(mask, static_cast<int>(in[t])),
            __reduce_min_sync(mask, static_cast<int>(in[t])),
            __reduce_max_sync(mask, static_cast<int>(in[t]))};
}

// The two halves of a warp go different ways and each work with a mask of their own, for a different number of rounds.
__global__ void diverge(int* out) {
  unsigned const lane = threadIdx.x % 32;
  int value = static_cast<int>(threadIdx.x);
  if (lane < 16) {
    for (int i = 1; i < 16; i *= 2) value += __shfl_xor_sync(0x0000ffffu, value, i);
  } else {
    for (int i = 1; i < 16; i *= 2) value = max(value, __shfl_xor_sync(0xffff0000u, value, i));
    for (int i = 0; i < 5; ++i) value += __shfl_sync(0xffff0000u, 1, 16);
  }
  __syncwarp();
  out[threadIdx.x] = __shfl_sync(0xffffffffu, value, static_cast<int>(31 - lane));
}

// Odd and even lanes ask for the active mask in different branches.
__global__ void active_in_branches(unsigned* out) {
  if (threadIdx.x % 2)
    out[threadIdx.x] = __activemask();
  else
    out[threadIdx.x] = __activemask();
}

// One atomic for all the lanes that got here together.
__global__ void count_coalesced(const int* in, unsigned* total, unsigned* leaders) {
  namespace cg = cooperative_groups;
  if (in[threadIdx.x] == 0) return;
  auto const group = cg::coalesced_threads();
  if (group.thread_rank() == 0) {
    atomicAdd(total, group.size());
    atomicAdd(leaders, 1u);
  }
}

__global__ void tile_sums(const int* in, int* out) {
  namespace cg = cooperative_groups;
  auto const block = cg::this_thread_block();
  auto const tile = cg::tiled_partition<8>(block);
  int sum = in[block.thread_rank()];
  for (unsigned step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  block.sync();
  out[block.thread_rank()] = tile.shfl(sum, 0) + static_cast<int>(tile.meta_group_rank()) * 1000;
}

// A value goes round the whole grid: each round reads what another block wrote in the one before. What a block keeps in
// its shared memory stays its own meanwhile.
__global__ void pass_round_grid(unsigned* values, unsigned* wrong, int rounds) {
  namespace cg = cooperative_groups;
  auto const grid = cg::this_grid();
  auto const rank = static_cast<unsigned>(grid.thread_rank()), size = static_cast<unsigned>(grid.size());
  __shared__ unsigned own[256];
  TIDEMARK_DYNAMIC_SHARED(unsigned, own_dynamic);
  own[threadIdx.x] = own_dynamic[threadIdx.x] = rank;
  values[rank] = rank;
  grid.sync();
  for (int i = 0; i < rounds; ++i) {
    unsigned const mine = values[(rank + 1) % size];
    grid.sync();
    values[rank] = mine;
    __syncthreads();
    if (own[threadIdx.x] != rank || own_dynamic[threadIdx.x] != rank) atomicAdd(wrong, 1u);
    grid.sync();
  }
}

__global__ void leave_before_grid(int what) {
  auto const grid = cooperative_groups::this_grid();
  if (what == 0 && (threadIdx.x == 3 || threadIdx.x == blockDim.x - 1)) return;
  if (what == 1 && blockIdx.x == 1) return;
  if (what == 2 && threadIdx.x == 3) __syncthreads();
  grid.sync();
}

__global__ void tiles_in_tiles(unsigned* out) {
  namespace cg = cooperative_groups;
  auto const block = cg::this_thread_block();
  auto const outer = cg::tiled_partition<16>(block);
  auto const inner = cg::tiled_partition<4>(outer);
  out[block.thread_rank()] = inner.meta_group_rank() * 100 + inner.meta_group_size() * 10 + inner.thread_rank();
}

__global__ void touch_atomics(Atomics* a) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  auto const u = static_cast<unsigned>(i);
  atomicAdd(&a->sum, i);
  atomicSub(&a->difference, i);
  atomicMin(&a->least, -i);
  atomicMax(&a->most, i);
  atomicAnd(&a->conjunction, ~(1 << (i & 15)));
  atomicOr(&a->disjunction, 1 << (i & 15));
  atomicXor(&a->parity, i);
  atomicExch(&a->exchanged, 42);
  atomicAdd_block(&a->unsigned_sum, 2u);
  atomicInc(&a->ring_up, 6u);
  atomicDec(&a->ring_down, 6u);
  atomicMin(&a->unsigned_least, 100000u - u);
  atomicAdd_system(&a->wide_sum, 1ull << 33);
  atomicMax(&a->wide_most, static_cast<unsigned long long>(u) << 32);
  atomicOr(&a->wide_or, 1ull << (u & 63));
  atomicMin(&a->signed_wide_least, -static_cast<long long>(u) * 4000000000ll);
  atomicAdd(&a->float_sum, 1.0f);
  atomicExch(&a->float_exchanged, 2.5f);
  atomicAdd(&a->double_sum, 0.5);
  if (i < 64) {
    atomicAdd(&a->half_sum, __float2half(0.25f));
    atomicAdd(&a->half2_sum, __floats2half2_rn(1.0f, 2.0f));
    atomicAdd(&a->brain_sum, __float2bfloat16(0.5f));
  }
  atomicCAS(&a->short_swapped, static_cast<unsigned short>(1), static_cast<unsigned short>(2));
}

// A lock taken by compare-and-swap, with a barrier's worth of other threads wanting it too.
__global__ void spin_lock(Atomics* a) {
  bool done = false;
  while (!done)
    if (atomicCAS(&a->lock, 0u, 1u) == 0) {
      a->spin_sum += 1.0;
      __threadfence();
      atomicExch(&a->lock, 0u);
      done = true;
    }
}

// The last block to finish adds up what the others wrote.
__global__ void sum_by_last_block(const float* in, float* part, float* out, unsigned* done) {
  __shared__ float tile[128];
  __shared__ bool last;
  unsigned const t = threadIdx.x;
  tile[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += tile[i];
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];
    *out = sum;
  }
}

// Thread 0 waits in a loop for the last thread of the block.
__global__ void wait_for_thread(int* flag) {
  if (threadIdx.x == 0)
    while (*static_cast<volatile int*>(flag) == 0) __nanosleep(20);
  else if (threadIdx.x == blockDim.x - 1)
    *static_cast<volatile int*>(flag) = 1;
}
