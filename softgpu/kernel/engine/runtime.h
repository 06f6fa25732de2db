// SPDX-License-Identifier: Apache-2.0
// What kernel bodies (through the shim) and registrations ask of the engine. Everything but run_blocks() is called from
// inside a kernel, on the fiber of the CUDA thread that asks, and may let other threads of the block run meanwhile.
#pragma once
#include <cstdint>

#include "softgpu/kernel/registry.h"

namespace tidemark::softgpu {

struct BarrierVotes {
  unsigned arrived = 0, in_favour = 0;
};
// __syncthreads and its voting forms. Threads that have exited count as arrived. The votes stay until the next barrier
// opens, and it cannot open before this thread has come to it.
void block_barrier(bool vote);
BarrierVotes barrier_votes();
// All threads of all blocks of a cooperative launch.
void grid_barrier();
bool launched_cooperatively();

enum class WarpOp : std::uint8_t {
  Sync,
  Shuffle,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Ballot,
  MatchAny,
  MatchAll,
  ReduceAdd,
  ReduceMin,
  ReduceMax,
  ReduceMinSigned,
  ReduceMaxSigned,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
};
// A shuffle's argument (source lane, delta or lane mask) and the width of its segments; nothing for the other calls.
struct ShuffleArgs {
  std::int32_t lane_arg = 0, width = 32;
};
// Waits until every live lane of the mask has made the same call with the same mask; returns this lane's result.
std::uint64_t warp_call(WarpOp op, std::uint32_t mask, std::uint64_t value = 0, ShuffleArgs args = {});
// The lanes that reach the same __activemask() together: it is answered when no other thread of the block can run.
// `place` is an address of its own for each place in the source.
std::uint32_t warp_active_mask(const void* place);
// Lets the other threads of the block run: for loops that wait for one of them.
void yield_thread();

unsigned lane_index();
void* dynamic_shared();
unsigned dynamic_shared_bytes();

[[noreturn]] void trap(SoftgpuKernelStatus status, const char* what);
// assert() in device code prints its text in CUDA's own form.
[[noreturn]] void assert_failed(const char* expression, const char* file, unsigned line, const char* function);
bool inside_kernel();

struct BlockJob {
  const char* name;
  const SoftgpuLaunch* launch;
  // Flat: runs all threads of the block whose index is in thread_state(). Otherwise: the body of one thread.
  void (*body)(void* args);
  void* args;
  bool flat;
};
SoftgpuKernelStatus run_blocks(const BlockJob& job, std::uint64_t first, std::uint64_t last);

}  // namespace tidemark::softgpu
