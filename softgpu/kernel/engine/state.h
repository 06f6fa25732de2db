// SPDX-License-Identifier: Apache-2.0
// Where the running CUDA thread stands. One per OS thread: a block's CUDA threads are fibers on one OS thread, and the
// engine writes the index here whenever it lets another of them run.
#pragma once

namespace tidemark::softgpu {

class Engine;

// An enumeration, not unsigned: a kernel's stores through int or float pointers can then not alias the index, and the
// compiler may keep it in a register and vectorise the loop of a flat kernel.
enum class Coord : unsigned {};
struct Index3 {
  Coord x, y, z;
};

struct ThreadState {
  Index3 thread{};
  Index3 block{};
  // Not zero, so that the variable lies in .tdata: the checking mode poisons .tbss, where shared memory is.
  Index3 block_dim{Coord{1}, Coord{1}, Coord{1}};
  Index3 grid_dim{Coord{1}, Coord{1}, Coord{1}};
  Engine* engine = nullptr;
};
// The calling OS thread's. Declared const (a CUDA thread never moves to another OS thread), so that a kernel asks once:
// in a shared library each mention of a thread_local variable would be a call, even inside a loop.
[[gnu::const]] ThreadState* thread_state() noexcept;

}  // namespace tidemark::softgpu
