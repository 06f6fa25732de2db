// SPDX-License-Identifier: Apache-2.0
// The thread on which host functions and stream callbacks run, one after another, as the driver's own does.
#pragma once
#include <functional>

namespace tidemark::softgpu {

// Never blocks; the thread is started by the first call and lives as long as the process.
void run_on_host_thread(std::function<void()> job);
// Whether the caller is that thread: CUDA calls from a host function are refused.
bool on_host_thread();

}  // namespace tidemark::softgpu
