// SPDX-License-Identifier: Apache-2.0
// CUPTI, where it is asked for and there: its records of memory audit the account, its records of kernels go into the
// trace with the layer, phase and step that were open where each was launched.
//
// CUPTI calls us for buffers and with full ones, on any thread and inside of any call; these calls only hand buffers
// over. All reading is done by one thread of our own, which also asks CUPTI to hand over what it has, four times a
// second, and a last time at the program's end. Nothing here calls CUDA. Where CUPTI is not, or is somebody else's, the
// fact "cupti" says so and the program does not notice. Off, it costs a load where a block or a mark is recorded.
#pragma once
#include <atomic>
#include <cstdint>

#include "interpose/process/options.h"
#include "interpose/watch/cupti_audit.h"
#include "interpose/watch/cupti_launches.h"

namespace tidemark::interpose {

// Once, when recording has begun, and before the exit handler that calls stop_cupti() is registered: CUPTI's own then
// runs after it.
void start_cupti(CuptiUse use);
// Reads what is left and writes the audit's result. Waits for two seconds at most: a CUPTI that hangs must not keep the
// program from its end.
void stop_cupti();

namespace detail {
extern constinit std::atomic<bool> cupti_audits, cupti_follows;
}
inline bool cupti_audits() {
  return detail::cupti_audits.load(std::memory_order_relaxed);
}
Audit& cupti_audit();

inline bool cupti_follows_launches() {
  return detail::cupti_follows.load(std::memory_order_relaxed);
}
// From now on the calling thread's launches belong there.
void follow_launches(LaunchScope scope);

}  // namespace tidemark::interpose
