// SPDX-License-Identifier: Apache-2.0
// A block's shared memory on one OS thread: the dynamic part is a buffer of ours; the static part are the kernels'
// thread_local variables, which lie in the library's .tbss.
//
// As on a GPU, a block finds what the one before left behind. In the checking mode (SOFTGPU_CHECK=1) both parts are
// filled with 0xFF (a NaN in every floating type) before each block, so that reading before writing shows. A write past
// the end of the dynamic part is found when the block ends.
#pragma once
#include <cstddef>
#include <span>

namespace tidemark::softgpu {

bool checking();

// The static part, of the calling thread.
std::span<std::byte> static_shared_memory();

class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // False when memory is short.
  bool resize(std::size_t dynamic_bytes);
  void poison();
  bool overrun() const;

  void* dynamic() const { return dynamic_; }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  void release();

  std::byte* dynamic_ = nullptr;
  std::size_t dynamic_bytes_ = 0, capacity_bytes_ = 0;
  std::span<std::byte> static_;  // empty unless it is to be poisoned
};

}  // namespace tidemark::softgpu
