// SPDX-License-Identifier: Apache-2.0
// Cooperative groups for a body that compiles twice: the toolkit's under nvcc, a small set of our own otherwise: the
// grid of a cooperative launch, the thread block, tiles of 1 to 32 threads, coalesced threads.
#pragma once

#if defined(__CUDACC__)

#include <cooperative_groups.h>

#else

#include "softgpu/kernel/portable.h"

namespace cooperative_groups {

class thread_block {
 public:
  static void sync() { __syncthreads(); }
  static unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() {
  return {};
}

class grid_group {
 public:
  // Whether its threads can meet: only in a launch by cudaLaunchCooperativeKernel.
  static bool is_valid() { return ::tidemark::softgpu::launched_cooperatively(); }
  static void sync() {
    ::tidemark::softgpu::memory_fence();
    ::tidemark::softgpu::grid_barrier();
    ::tidemark::softgpu::memory_fence();
  }
  static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
};
inline grid_group this_grid() {
  return {};
}

template <class Group>
inline void sync(const Group& group) {
  group.sync();
}

// Threads of one warp, named by a mask; ranks count the mask's lanes.
class warp_group {
 public:
  explicit warp_group(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    unsigned const below = (1u << ::tidemark::softgpu::lane_index()) - 1;
    return static_cast<unsigned>(__popc(mask_ & below));
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  template <class T>
  unsigned match_all(T value, int& all_same) const {
    return packed(__match_all_sync(mask_, value, &all_same));
  }
  template <class T>
  T shfl(T value, unsigned rank) const {
    return __shfl_sync(mask_, value, lane_of(rank % size()));
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    unsigned const rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(rank < delta ? rank : rank - delta));
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    unsigned const rank = thread_rank();
    return __shfl_sync(mask_, value, lane_of(rank + delta < size() ? rank + delta : rank));
  }

 protected:
  // The lane of a rank, and a mask of lanes as a mask of ranks.
  int lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return __ffs(static_cast<int>(rest)) - 1;
  }
  unsigned packed(unsigned lanes) const {
    unsigned ranks = 0, rank = 0;
    for (unsigned rest = mask_; rest; rest &= rest - 1, ++rank)
      if (lanes & rest & -rest) ranks |= 1u << rank;
    return ranks;
  }
  unsigned mask_;
};

class coalesced_group : public warp_group {
 public:
  using warp_group::warp_group;
};
// A macro, like __activemask(): it asks where it is written.
#define coalesced_threads() coalesced_group(__activemask())

template <unsigned Size, class Parent = thread_block>
class thread_block_tile : public warp_group {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() : warp_group((Size == 32 ? 0xffffffffu : (1u << Size) - 1) << first_lane()) {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return ::tidemark::softgpu::lane_index() % Size; }
  static unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  static unsigned meta_group_size() { return (Parent::size() + Size - 1) / Size; }
  template <class T>
  T shfl(T value, int rank) const {
    return __shfl_sync(mask_, value, rank, Size);
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    return __shfl_up_sync(mask_, value, delta, Size);
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return __shfl_down_sync(mask_, value, delta, Size);
  }
  template <class T>
  T shfl_xor(T value, unsigned lane_mask) const {
    return __shfl_xor_sync(mask_, value, static_cast<int>(lane_mask), Size);
  }

 private:
  static unsigned first_lane() { return ::tidemark::softgpu::lane_index() & ~(Size - 1); }
};
template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

}  // namespace cooperative_groups

#endif
