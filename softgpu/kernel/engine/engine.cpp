// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/engine.h"

#include <pthread.h>

#include <cstdlib>
#include <new>

#include "softgpu/kernel/engine/fault.h"
#include "softgpu/kernel/engine/report.h"
#include "softgpu/kernel/engine/switch.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tidemark::softgpu {
namespace {

constexpr std::size_t kPage = 4096;

// Sanitized frames are several times as large.
constexpr std::size_t kDefaultStackBytes = kSanitized ? 256 << 10 : 64 << 10;

// SOFTGPU_STACK, in KiB.
std::size_t configured_stack_bytes() {
  const char* const text = std::getenv("SOFTGPU_STACK");
  if (!text || !*text) return kDefaultStackBytes;
  char* end = nullptr;
  unsigned long long const kib = std::strtoull(text, &end, 10);
  if (*end || kib < 16 || kib > (1u << 20)) {
    say_line(std::string("SOFTGPU_STACK=") + text + ": expected a number of KiB from 16 to 1048576; 64 is taken");
    return kDefaultStackBytes;
  }
  return (kib << 10) + (-(kib << 10) % kPage);
}

pthread_key_t engine_key() {
  static pthread_key_t const key = [] {
    pthread_key_t made{};
    // Not a thread_local with a destructor: its guard would lie in .tbss, among the poisoned bytes.
    pthread_key_create(&made, [](void* engine) {
      leave_faults(*static_cast<Engine*>(engine));
      delete static_cast<Engine*>(engine);
    });
    return made;
  }();
  return key;
}

// Kernels compute with the default rounding and with denormals, whatever the calling thread has set; and what they do
// to the state (the intrinsics with a rounding of their own change it for a moment) stays inside.
class DefaultFloatState {
 public:
#if defined(__x86_64__)
  DefaultFloatState() : mxcsr_(_mm_getcsr()) {
    constexpr std::uint16_t kDefaultX87 = 0x37F;
    asm volatile("fnstcw %0" : "=m"(x87_));
    asm volatile("fldcw %0" : : "m"(kDefaultX87));
    _mm_setcsr(0x1F80);
  }
  ~DefaultFloatState() {
    asm volatile("fldcw %0" : : "m"(x87_));
    _mm_setcsr(mxcsr_);
  }

 private:
  unsigned mxcsr_;
  std::uint16_t x87_;
#elif defined(__aarch64__)
  DefaultFloatState() {
    asm volatile("mrs %0, fpcr" : "=r"(fpcr_));
    asm volatile("msr fpcr, xzr");
  }
  ~DefaultFloatState() {
    asm volatile("msr fpcr, %0" : : "r"(fpcr_));
  }

 private:
  std::uint64_t fpcr_;
#endif
};

Index3 index_of_block(std::uint64_t linear, const SoftgpuDim& grid) {
  return {Coord(linear % grid.x), Coord(linear / grid.x % grid.y), Coord(linear / grid.x / grid.y)};
}

}  // namespace

constinit thread_local ThreadState t_state;
ThreadState* thread_state() noexcept {
  return &t_state;
}

Engine::Engine() : state_(&t_state), stacks_(configured_stack_bytes()) {
  main_.sanitizer.adopt_thread();
  main_thread_.stack = &main_;
}

Engine* Engine::of_this_thread() {
  if (t_state.engine) return t_state.engine;
  auto* const made = new (std::nothrow) Engine;
  if (!made) return nullptr;
  made->stand_in();
  meet_faults(*made);
  return made;
}

void Engine::stand_in() {
  pthread_setspecific(engine_key(), this);
  t_state.engine = this;
}

Engine* Engine::existing() {
  return static_cast<Engine*>(pthread_getspecific(engine_key()));
}

void Engine::set_shape(const SoftgpuDim& block) {
  if (shape_.x == block.x && shape_.y == block.y && shape_.z == block.z) return;
  shape_ = block;
  threads_ = block.x * block.y * block.z;
  for (unsigned i = 0; i < threads_; ++i)
    thread_[i].index = {Coord(i % block.x), Coord(i / block.x % block.y), Coord(i / block.x / block.y)};
}

bool Engine::prepare(const SoftgpuLaunch& launch) {
  const SoftgpuDim& block = launch.block;
  std::uint64_t const threads = std::uint64_t{block.x} * block.y * block.z;
  bool const fits = block.x <= kMaxThreads && block.y <= kMaxThreads && threads >= 1 && threads <= kMaxThreads;
  if (!fits || !shared_.resize(launch.dynamic_shared_bytes)) {
    say_fault(*job_, fits ? "no memory for its shared memory" : "a block has 1 to 1024 threads");
    return false;
  }
  set_shape(block);
  state_->block_dim = {Coord(block.x), Coord(block.y), Coord(block.z)};
  state_->grid_dim = {Coord(launch.grid.x), Coord(launch.grid.y), Coord(launch.grid.z)};
  return true;
}

bool Engine::begin(const BlockJob& job) {
  job_ = &job;
  flat_ = job.flat;
  status_ = SOFTGPU_KERNEL_OK;
  return prepare(*job.launch);
}

SoftgpuKernelStatus Engine::run(const BlockJob& job, std::uint64_t first, std::uint64_t last) {
  DefaultFloatState const float_state;
  if (job.launch->cooperative != 0 && !job.flat) return run_cooperative(job, first, last);
  if (!begin(job)) return SOFTGPU_KERNEL_BAD_LAUNCH;
  for (std::uint64_t block = first; block < last && status_ == SOFTGPU_KERNEL_OK; ++block) run_block(block);
  return status_;
}

void Engine::reset_block() {
  live_count_ = flat_ ? 1 : threads_;
  started_ = arrived_ = votes_ = at_grid_ = 0;
  parked_ = false;
  turn_ = maybe_ready_warps_ = 0;
  warp_ = 0;
  warp_begin_ = thread_.data();
  self_ = &main_thread_;
  for (unsigned w = 0, left = live_count_; w < warp_count(); ++w) {
    unsigned const lanes = left < kWarpLanes ? left : kWarpLanes;
    live_[w] = lanes == kWarpLanes ? ~LaneMask{0} : bit(lanes) - 1;
    ready_[w] = warps_[w].waiting = warps_[w].at_active = 0;
    left -= lanes;
  }
}

// A flat kernel is one fiber that loops over the threads: it, too, can then be abandoned when it fails.
void Engine::run_block(std::uint64_t block) {
  state_->block = index_of_block(block, job_->launch->grid);
  shared_.poison();
  reset_block();
  running_ = true;
  run_until_done();
  finish_block();
}

void Engine::finish_block() {
  running_ = false;
  if (parked_) return;
  if (status_ != SOFTGPU_KERNEL_OK) {
    stacks_.renew_used();
  } else if (shared_.overrun()) {
    status_ = SOFTGPU_KERNEL_ILLEGAL_ADDRESS;
    say_fault(*job_, "a write past the end of its dynamic shared memory");
  } else if (!stacks_.canaries_intact()) {
    status_ = SOFTGPU_KERNEL_STACK_OVERFLOW;
    stacks_.renew_used();
    say_fault(*job_, "a thread used more than its stack (SOFTGPU_STACK sets its size in KiB)");
  }
}

void Engine::continue_block(std::uint64_t block) {
  state_->block = index_of_block(block, job_->launch->grid);
  running_ = true;
  continue_parked();
  finish_block();
}

void Engine::fail(SoftgpuKernelStatus status, std::string what) {
  say_fault(*job_, what);
  // This frame and those above it are left for good: nothing in them may own memory.
  std::string().swap(what);
  status_ = status;
  if constexpr (kSanitized) sanitizer_leave(self_->stack->sanitizer, main_.sanitizer, true);
  came_from_ = self_->stack;
  softgpu_switch_stack(&self_->sp, main_thread_.sp);
  __builtin_unreachable();
}

void Engine::run_thread() {
  bool thrown = false;
  try {
    job_->body(job_->args);
  } catch (...) {
    thrown = true;  // and out of the handler first, so that the exception is destroyed
  }
  if (thrown) fail(SOFTGPU_KERNEL_TRAP, "a C++ exception left the kernel: device code has none");
}

void Engine::stack_main() {
  sanitizer_arrive(self_->stack->sanitizer, came_from_->sanitizer);
  for (;;) {
    run_thread();
    thread_exited();
    next_after_exit();
  }
}

SoftgpuKernelStatus run_blocks(const BlockJob& job, std::uint64_t first, std::uint64_t last) {
  Engine* const engine = Engine::of_this_thread();
  if (!engine) {
    say_fault(job, "no memory to run it");
    return SOFTGPU_KERNEL_BAD_LAUNCH;
  }
  return engine->run(job, first, last);
}

}  // namespace tidemark::softgpu

extern "C" void softgpu_stack_main() {
  tidemark::softgpu::thread_state()->engine->stack_main();
}
