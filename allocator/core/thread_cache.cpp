// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/thread_cache.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace tidemark::allocator {

thread_local constinit std::array<ThreadSlot, kMostAllocators> t_slots __attribute__((tls_model("initial-exec"))) = {};

namespace {
// A thread asks for a little more than it needs now, so that the common counter is a rare stop.
constexpr Granules kGrant = to_granules(1 << 20);

bool registers() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}
bool has_membarrier() {
  static bool const has = registers();
  return has;
}
}  // namespace

bool sections_need_fences() {
  return !has_membarrier();
}

void order_sections() {
  if (has_membarrier())
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the flag's store and the threads' fences are enough
}

bool ThreadCache::grant(Granules granules) {
  if (held_ + granules <= granted_) return true;
  std::int64_t available = shared_.allowance_granules.load(std::memory_order_relaxed);
  std::int64_t wanted = 0;
  do {
    if (available < static_cast<std::int64_t>(granules)) return false;
    wanted = std::min<std::int64_t>(available, std::max(granules, kGrant));
  } while (!shared_.allowance_granules.compare_exchange_weak(available, available - wanted, std::memory_order_relaxed));
  granted_ += static_cast<std::uint64_t>(wanted);
  return held_ + granules <= granted_;
}

void ThreadCache::give_up_grant() {
  shared_.allowance_granules.fetch_add(static_cast<std::int64_t>(granted_), std::memory_order_relaxed);
  granted_ = held_ = 0;
}

}  // namespace tidemark::allocator
