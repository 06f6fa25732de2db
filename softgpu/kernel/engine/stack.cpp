// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "softgpu/kernel/engine/switch.h"

namespace tidemark::softgpu {
namespace {

constexpr int kCanary = 0xC5;

// Linux 6.13: a guard without a mapping of its own. Two mappings per stack would reach the system's limit (65 530) with
// about 32 OS threads that run blocks of 1024.
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

bool make_fault(std::byte* guard) {
  return madvise(guard, kGuardBytes, MADV_GUARD_INSTALL) == 0 || mprotect(guard, kGuardBytes, PROT_NONE) == 0;
}

// Stacks lie at the same offset of their pages, and a cache holds only a few lines of the same offset: without a
// different start for each, the frames of a block's threads would push each other out.
std::size_t colour_bytes(std::size_t index) {
  constexpr std::size_t kLine = 64, kColours = 47;
  return index % kColours * kLine;
}

}  // namespace

bool StackPool::grow() {
  std::size_t const bytes = kStacksPerChunk * slot_bytes();
  void* const base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) return false;
  // A thread touches a page or two of its stack: a huge page would make that 2 MiB.
  madvise(base, bytes, MADV_NOHUGEPAGE);
  auto chunk = std::make_unique<Chunk>();
  chunk->base = static_cast<std::byte*>(base);
  std::size_t const first = chunks_.size() * kStacksPerChunk;
  for (std::size_t i = 0; i < kStacksPerChunk; ++i) {
    Stack& stack = chunk->stacks[i];
    stack.guard = chunk->base + i * slot_bytes();
    stack.top = stack.guard + slot_bytes();
    stack.guard_faults = make_fault(stack.guard);
    if (!stack.guard_faults) {
      has_canaries_ = true;
      std::memset(stack.guard, kCanary, kGuardBytes);
    }
    renew(stack, first + i);
  }
  // The pool is a stack too: the first of the chunk is taken first.
  for (std::size_t i = kStacksPerChunk; i-- > 0;) free_.push_back(&chunk->stacks[i]);
  chunks_.push_back(std::move(chunk));
  return true;
}

void StackPool::renew(Stack& stack, std::size_t index) {
  stack.sanitizer.begin(stack.guard + kGuardBytes, stack_bytes_);
  stack.sp = prepare_stack(stack.top - colour_bytes(index));
}

void StackPool::renew_used() {
  for (std::size_t c = chunks_.size(); c-- > 0;)
    for (std::size_t i = kStacksPerChunk; i-- > 0;) {
      Stack& stack = chunks_[c]->stacks[i];
      if (!stack.guard_faults) std::memset(stack.guard, kCanary, kGuardBytes);
      if (stack.free) continue;
      renew(stack, c * kStacksPerChunk + i);
      give_back(&stack);
    }
}

bool StackPool::find_canaries_intact() const {
  auto intact = [](const Stack& stack) {
    return stack.guard_faults || std::all_of(stack.guard, stack.guard + kGuardBytes,
                                             [](std::byte b) { return std::to_integer<int>(b) == kCanary; });
  };
  return std::all_of(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
    return std::all_of(std::begin(chunk->stacks), std::end(chunk->stacks), intact);
  });
}

bool StackPool::in_guard(const void* address) const {
  auto const* at = static_cast<const std::byte*>(address);
  for (const auto& chunk : chunks_) {
    if (at < chunk->base || at >= chunk->base + kStacksPerChunk * slot_bytes()) continue;
    return static_cast<std::size_t>(at - chunk->base) % slot_bytes() < kGuardBytes;
  }
  return false;
}

StackPool::~StackPool() {
  for (auto& chunk : chunks_) {
    for (Stack& stack : chunk->stacks) stack.sanitizer.end();
    sanitizer_unpoison(chunk->base, kStacksPerChunk * slot_bytes());
    munmap(chunk->base, kStacksPerChunk * slot_bytes());
  }
}

}  // namespace tidemark::softgpu
