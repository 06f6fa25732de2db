// SPDX-License-Identifier: Apache-2.0
// Runs blocks of a kernel on one OS thread: the block's threads are fibers, taken in turn.
//
// A thread runs until it waits (barrier, warp operation) or exits; then the engine switches straight to the next that
// can run. The last thread to reach a barrier opens it and goes on without a switch. When nothing can run although
// threads are left, the block is deadlocked and the launch ends with an error.
//
// A launch that fails is abandoned: its fibers are never continued and their frames are not unwound, so destructors of
// a kernel's local objects do not run. It is the same on a GPU, and device code that owns host resources is not CUDA.
//
// Invariant: a live thread is the running one, or not started (its number is not below started_), or ready, or at the
// barrier, or in a warp's call or __activemask. Lanes that do not exist (a block that is no multiple of 32) are not
// live.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "softgpu/kernel/engine/shared_memory.h"
#include "softgpu/kernel/engine/stack.h"
#include "softgpu/kernel/engine/state.h"
#include "softgpu/kernel/engine/warp.h"

namespace tidemark::softgpu {

// What thread_state() points to.
extern constinit thread_local ThreadState t_state;

class Engine {
 public:
  static constexpr unsigned kMaxThreads = 1024, kMaxWarps = kMaxThreads / kWarpLanes;

  // The calling thread's engine, made at first use and freed when the thread ends; null when memory is short.
  static Engine* of_this_thread();
  // The same without making one: safe in a signal handler.
  static Engine* existing();

  SoftgpuKernelStatus run(const BlockJob& job, std::uint64_t first, std::uint64_t last);

  // From inside a kernel.
  void barrier(bool vote);
  void grid_barrier();
  BarrierVotes votes() const { return result_; }
  std::uint64_t warp_call(CallKey key, std::uint64_t value, ShuffleArgs args);
  LaneMask active_mask(const void* place);
  void yield();
  [[noreturn, gnu::cold]] void fail(SoftgpuKernelStatus status, std::string what);
  unsigned lane() const { return static_cast<unsigned>(self_ - warp_begin_); }
  bool running() const { return running_; }
  bool cooperative() const { return job_->launch->cooperative != 0; }
  const SharedMemory& shared() const { return shared_; }

  // What a stack does: threads, one after another, for as long as it lives.
  [[noreturn]] void stack_main();
  // For the fault handler: a small stack to stand on when the thread's own is used up, and what an address means.
  void* landing_top() { return landing_.data() + landing_.size(); }
  bool in_stack_guard(const void* address) const { return stacks_.in_guard(address); }
  std::size_t stack_bytes() const { return stacks_.stack_bytes(); }
  void* signal_stack() const { return signal_stack_; }
  void set_signal_stack(void* stack) { signal_stack_ = stack; }

 private:
  struct Thread {
    void* sp = nullptr;  // while it waits
    Stack* stack = nullptr;
    Index3 index{};
  };

  Engine();
  // Makes it the calling thread's.
  void stand_in();
  bool begin(const BlockJob& job);
  bool prepare(const SoftgpuLaunch& launch);
  void set_shape(const SoftgpuDim& block);
  void run_block(std::uint64_t block);
  void continue_block(std::uint64_t block);
  void finish_block();
  void reset_block();
  void run_thread();

  // grid.cpp
  struct Resident;
  class Meeting;
  SoftgpuKernelStatus run_cooperative(const BlockJob& job, std::uint64_t first, std::uint64_t last);

  // schedule.cpp. run_until_done() returns when the block has ended, well or not. wait() lets others run until
  // this thread is woken; resume() goes to one that can run.
  void run_until_done();
  void park();
  void continue_parked();
  void wait();
  void wait_for_more();
  void next_after_exit();
  void resume(void** save, Thread& to);
  void start(Stack* stack);
  Thread* take_ready();
  Thread* take_ready_behind();
  Thread* take_lane(LaneMask among);
  Thread* take_when_stuck();
  LaneMask ready_in(unsigned warp) const { return warp == warp_ ? turn_ : ready_[warp]; }
  void enter_warp(unsigned warp);
  void wake(unsigned warp, LaneMask lanes);
  void thread_exited();
  void pass_barrier();
  void open_barrier();
  bool answer_active_mask();
  void finish_calls(unsigned warp);
  [[noreturn, gnu::cold]] void refuse_in_flat(const char* what);
  [[noreturn, gnu::cold]] void refuse_mask(WarpOp op);
  std::string describe_deadlock() const;

  static LaneMask bit(unsigned lane) { return LaneMask{1} << lane; }
  unsigned warp_count() const { return (threads_ + kWarpLanes - 1) / kWarpLanes; }

  // What every switch touches comes first. The ready lanes of the current warp (warp_) are in turn_, those of the
  // others in ready_: the way from one thread to the next is then a short chain of loads.
  LaneMask turn_ = 0;
  unsigned arrived_ = 0, live_count_ = 0;  // at the barrier; not exited
  unsigned votes_ = 0;
  BarrierVotes result_;
  Thread* self_ = nullptr;
  Thread* warp_begin_ = nullptr;
  ThreadState* state_ = nullptr;
  unsigned warp_ = 0, started_ = 0, threads_ = 0;
  LaneMask maybe_ready_warps_ = 0;  // a warp whose bit is clear has no lane in ready_
  bool flat_ = false, running_ = false;
  Stack* came_from_ = nullptr;  // for the sanitizers
  std::array<LaneMask, kMaxWarps> ready_{}, live_{};
  std::array<Thread, kMaxThreads> thread_{};

  std::array<Warp, kMaxWarps> warps_{};
  unsigned at_grid_ = 0;  // of those that have arrived: at the grid's barrier, not the block's
  bool parked_ = false;   // all of the block's threads wait there
  const BlockJob* job_ = nullptr;
  SoftgpuKernelStatus status_ = SOFTGPU_KERNEL_OK;
  SoftgpuDim shape_{0, 0, 0};
  Stack main_;
  Thread main_thread_;  // stands for the caller of run()
  StackPool stacks_;
  SharedMemory shared_;
  void* signal_stack_ = nullptr;
  alignas(16) std::array<std::byte, 32768> landing_{};
};

}  // namespace tidemark::softgpu
