// SPDX-License-Identifier: Apache-2.0
// Who runs next: the part of the engine that every barrier and every warp operation goes through. A switch should cost
// a few nanoseconds, so the ordinary way (a lane of the own warp is ready) is short and the rest is kept out of line.
#include <utility>

#include "softgpu/kernel/engine/engine.h"
#include "softgpu/kernel/engine/report.h"
#include "softgpu/kernel/engine/switch.h"

namespace tidemark::softgpu {
namespace {

constexpr const char* kMixedBarriers = "some threads of the block are in grid.sync(), others at __syncthreads";
constexpr const char* kNoStacks = "no memory for the stacks of its threads";

unsigned lowest(LaneMask mask) {
  return static_cast<unsigned>(__builtin_ctz(mask));
}

// What a shuffle from a lane outside its group gives: in the checking mode something that shows.
const std::uint64_t* undefined_value() {
  static constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
  return checking() ? &kAllOnes : nullptr;
}

}  // namespace

// Leaves the stack of self_ (its pointer goes to *save) for `to`, which becomes self_.
[[gnu::always_inline]] inline void Engine::resume(void** save, Thread& to) {
  [[maybe_unused]] Stack& from = *self_->stack;
  if constexpr (kSanitized) came_from_ = &from;
  self_ = &to;
  state_->thread = to.index;
  if constexpr (kSanitized) sanitizer_leave(from.sanitizer, to.stack->sanitizer, false);
  softgpu_switch_stack(save, to.sp);
  if constexpr (kSanitized) sanitizer_arrive(from.sanitizer, came_from_->sanitizer);
}

void Engine::run_until_done() {
  if (Stack* const stack = stacks_.take()) return start(stack);
  status_ = SOFTGPU_KERNEL_BAD_LAUNCH;
  say_fault(*job_, kNoStacks);
}

// The next thread that has not run yet, on a stack that waits for one: a parked one, a new one, or the one we stand on.
void Engine::start(Stack* stack) {
  if (!stack) fail(SOFTGPU_KERNEL_BAD_LAUNCH, kNoStacks);
  Thread& fresh = thread_[started_];
  enter_warp(started_++ / kWarpLanes);
  fresh.stack = stack;
  fresh.sp = stack->sp;
  if (stack != self_->stack) return resume(&self_->sp, fresh);
  self_ = &fresh;
  state_->thread = fresh.index;
}

void Engine::enter_warp(unsigned warp) {
  if (warp == warp_) return;
  if (turn_) maybe_ready_warps_ |= bit(warp_);
  ready_[warp_] = turn_;
  turn_ = ready_[warp];
  ready_[warp] = 0;
  warp_ = warp;
  warp_begin_ = &thread_[warp * kWarpLanes];
}

void Engine::wake(unsigned warp, LaneMask lanes) {
  if (warp == warp_) {
    turn_ |= lanes;
  } else {
    ready_[warp] |= lanes;
    maybe_ready_warps_ |= bit(warp);
  }
}

// Of the current warp.
[[gnu::always_inline]] inline Engine::Thread* Engine::take_lane(LaneMask among) {
  unsigned const lane = lowest(among);
  turn_ &= ~bit(lane);
  return warp_begin_ + lane;
}

// The current warp first: its stacks are warm, and a kernel of warp operations then runs warp by warp.
Engine::Thread* Engine::take_ready() {
  for (; !turn_ && maybe_ready_warps_; maybe_ready_warps_ &= maybe_ready_warps_ - 1)
    if (ready_[lowest(maybe_ready_warps_)]) enter_warp(lowest(maybe_ready_warps_));
  return turn_ ? take_lane(turn_) : nullptr;
}

// In turn, beginning behind the running thread: threads that wait for each other in loops all get on.
Engine::Thread* Engine::take_ready_behind() {
  if (LaneMask const later = turn_ & (~LaneMask{1} << lane())) return take_lane(later);
  unsigned const warps = warp_count();
  for (unsigned step = 1; step <= warps; ++step) {
    unsigned const warp = (warp_ + step) % warps;
    if (!ready_in(warp)) continue;
    enter_warp(warp);
    return take_lane(turn_);
  }
  return nullptr;
}

[[gnu::always_inline]] inline void Engine::wait() {
  if (LaneMask const turn = turn_) return resume(&self_->sp, *take_lane(turn));
  wait_for_more();
}

[[gnu::noinline]] void Engine::wait_for_more() {
  if (Thread* const next = take_ready()) return resume(&self_->sp, *next);
  if (started_ < threads_) return start(stacks_.take());
  Thread* const next = take_when_stuck();
  if (next != self_) resume(&self_->sp, *next);
}

void Engine::next_after_exit() {
  Stack& parked = *self_->stack;
  Thread* next = take_ready();
  if (!next && started_ < threads_ && !flat_) return start(&parked);
  if (!next) next = live_count_ == 0 || parked_ ? &main_thread_ : take_when_stuck();
  stacks_.give_back(&parked);
  resume(&parked.sp, *next);
}

// Nothing is ready and all have started: either __activemask can be answered, or the block is deadlocked.
Engine::Thread* Engine::take_when_stuck() {
  if (!answer_active_mask()) fail(SOFTGPU_KERNEL_DIVERGENT_SYNC, describe_deadlock());
  return take_ready();
}

void Engine::yield() {
  if (flat_) return;
  unsigned const own_warp = warp_, own_lane = lane();
  if (started_ < threads_) {
    wake(own_warp, bit(own_lane));
    return start(stacks_.take());
  }
  Thread* const next = take_ready_behind();
  if (!next) return;
  wake(own_warp, bit(own_lane));
  resume(&self_->sp, *next);
}

void Engine::refuse_in_flat(const char* what) {
  fail(SOFTGPU_KERNEL_FLAT_SYNC, std::string(what) + " in a kernel that is registered as flat: use SOFTGPU_KERNEL");
}
void Engine::refuse_mask(WarpOp op) {
  fail(SOFTGPU_KERNEL_DIVERGENT_SYNC, std::string(name_of(op)) + " with a mask that does not name the caller");
}

// The switch is the last thing it does: a jump, so that nothing but the switch itself saves registers.
[[gnu::always_inline]] inline void Engine::barrier(bool vote) {
  votes_ += vote;
  if (++arrived_ != live_count_) return wait();
  pass_barrier();
}

// The last to arrive opens it and goes on. A flat kernel is a single fiber: it always gets here.
[[gnu::noinline]] void Engine::pass_barrier() {
  if (flat_) refuse_in_flat("__syncthreads");
  if (at_grid_ != 0) fail(SOFTGPU_KERNEL_DIVERGENT_SYNC, kMixedBarriers);
  open_barrier();
  turn_ &= ~bit(lane());
}

// The last thread to come takes the block away; so does one that exits when the others are there.
void Engine::grid_barrier() {
  if (flat_) refuse_in_flat("grid.sync()");
  if (job_->launch->cooperative == 0)
    fail(SOFTGPU_KERNEL_TRAP, "grid.sync() in a launch that is not cooperative: use cudaLaunchCooperativeKernel");
  ++at_grid_;
  if (++arrived_ != live_count_) return wait();
  park();
  resume(&self_->sp, main_thread_);
}

void Engine::park() {
  if (at_grid_ != arrived_) fail(SOFTGPU_KERNEL_DIVERGENT_SYNC, kMixedBarriers);
  parked_ = true;
}

void Engine::continue_parked() {
  parked_ = false;
  at_grid_ = 0;
  open_barrier();
  resume(&main_thread_.sp, *take_ready());
}

// All that live are at the barrier: who waits need not be remembered.
void Engine::open_barrier() {
  result_ = {.arrived = arrived_, .in_favour = votes_};
  arrived_ = votes_ = 0;
  unsigned const warps = warp_count();
  for (unsigned w = 0; w < warps; ++w) ready_[w] = live_[w];
  turn_ = std::exchange(ready_[warp_], 0);
  maybe_ready_warps_ = warps == kMaxWarps ? ~LaneMask{0} : bit(warps) - 1;
}

std::uint64_t Engine::warp_call(CallKey key, std::uint64_t value, ShuffleArgs args) {
  if (flat_) [[unlikely]]
    refuse_in_flat(name_of(op_of(key)));
  unsigned const self = lane();
  Warp& warp = warps_[warp_];
  if (!(mask_of(key) & bit(self))) [[unlikely]]
    refuse_mask(op_of(key));
  warp.key[self] = key;
  warp.value[self] = value;
  warp.args[self] = args;
  warp.waiting |= bit(self);
  if (LaneMask const group = warp.complete_group(self, live_[warp_])) {
    combine(warp, group, op_of(key), undefined_value());
    warp.waiting &= ~group;
    turn_ |= group & ~bit(self);
  } else {
    wait();
  }
  return warp.result[self];
}

// After an exit: a group may have waited only for the lane that is gone.
void Engine::finish_calls(unsigned index) {
  Warp& warp = warps_[index];
  for (LaneMask rest = warp.waiting; rest; rest &= rest - 1) {
    unsigned const first = lowest(rest);
    LaneMask const group = warp.waiting & bit(first) ? warp.complete_group(first, live_[index]) : 0;
    if (!group) continue;
    combine(warp, group, op_of(warp.key[first]), undefined_value());
    warp.waiting &= ~group;
    wake(index, group);
  }
}

void Engine::thread_exited() {
  live_[warp_] &= ~bit(lane());
  --live_count_;
  if (arrived_ != 0 && arrived_ == live_count_) at_grid_ != 0 ? park() : open_barrier();
  if (warps_[warp_].waiting) finish_calls(warp_);
}

LaneMask Engine::active_mask(const void* place) {
  if (flat_) [[unlikely]]
    refuse_in_flat("__activemask");
  Warp& warp = warps_[warp_];
  unsigned const self = lane();
  warp.active_place[self] = place;
  warp.at_active |= bit(self);
  wait();
  return static_cast<LaneMask>(warp.result[self]);
}

// The lanes of a warp that stand at the same call are as converged as they will ever be.
bool Engine::answer_active_mask() {
  for (unsigned w = 0; w < warp_count(); ++w) {
    Warp& warp = warps_[w];
    if (!warp.at_active) continue;
    const void* const place = warp.active_place[lowest(warp.at_active)];
    LaneMask together = 0;
    for (LaneMask rest = warp.at_active; rest; rest &= rest - 1)
      if (warp.active_place[lowest(rest)] == place) together |= bit(lowest(rest));
    for (LaneMask rest = together; rest; rest &= rest - 1) warp.result[lowest(rest)] = together;
    warp.at_active &= ~together;
    wake(w, together);
    return true;
  }
  return false;
}

// The engine is found through the OS thread, not handed in by the kernel: a kernel would keep the pointer on its stack,
// where it can be read only after the switch to that stack.
void block_barrier(bool vote) {
  t_state.engine->barrier(vote);
}
void grid_barrier() {
  t_state.engine->grid_barrier();
}
BarrierVotes barrier_votes() {
  return t_state.engine->votes();
}
std::uint64_t warp_call(WarpOp op, std::uint32_t mask, std::uint64_t value, ShuffleArgs args) {
  return t_state.engine->warp_call(call_key(op, mask), value, args);
}

}  // namespace tidemark::softgpu
