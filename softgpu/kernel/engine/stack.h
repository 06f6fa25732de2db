// SPDX-License-Identifier: Apache-2.0
// Stacks for the threads of a block, pooled per OS thread. A stack runs one CUDA thread after another until one of them
// has to wait; that thread then keeps it until it has exited. So a block whose threads never wait uses one stack, and
// stacks are made only as threads come to wait at the same time.
//
// Below each stack lies a guard: a page that faults, or, where the system has no more mappings to give, a page of
// canaries that is looked at when the block ends. Owned and used by one OS thread.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "softgpu/kernel/engine/sanitizer.h"

namespace tidemark::softgpu {

struct Stack {
  void* sp = nullptr;
  SanitizerStack sanitizer;
  std::byte* guard = nullptr;  // kGuardBytes; the stack is above it
  std::byte* top = nullptr;
  bool guard_faults = false;
  bool free = true;  // waits in softgpu_stack_main, or has never been used
};

inline constexpr std::size_t kGuardBytes = 4096;

class StackPool {
 public:
  explicit StackPool(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // A stack that waits in softgpu_stack_main for a thread to run, new or used before. Null when memory is short.
  Stack* take() {
    if (free_.empty() && !grow()) return nullptr;
    Stack* const stack = free_.back();
    free_.pop_back();
    stack->free = false;
    return stack;
  }
  void give_back(Stack* stack) {
    stack->free = true;
    free_.push_back(stack);
  }
  // After an abandoned block: the stacks whose threads will never go on start anew and are free.
  void renew_used();

  bool canaries_intact() const { return !has_canaries_ || find_canaries_intact(); }
  // Is this an address in the guard of one of our stacks?
  bool in_guard(const void* address) const;
  std::size_t stack_bytes() const { return stack_bytes_; }

 private:
  // A warp's worth of stacks per mapping: small blocks stay small.
  static constexpr std::size_t kStacksPerChunk = 32;
  struct Chunk {
    std::byte* base;
    Stack stacks[kStacksPerChunk];
  };
  bool grow();
  bool find_canaries_intact() const;
  void renew(Stack& stack, std::size_t index);
  std::size_t slot_bytes() const { return kGuardBytes + stack_bytes_; }

  std::size_t stack_bytes_;
  bool has_canaries_ = false;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Stack*> free_;
};

}  // namespace tidemark::softgpu
