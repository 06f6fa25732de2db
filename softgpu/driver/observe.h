// SPDX-License-Identifier: Apache-2.0
// What libcuda tells an observer (softgpu/interface/observe.h). All are called under the engine's lock and do nothing
// while nobody observes. Announcements leave the lock for the time of the observer's own calls.
#pragma once
#include <memory>

#include "softgpu/driver/operation.h"
#include "softgpu/interface/front.h"

namespace tidemark::softgpu {

// After an allocation, before a release. The stream: of an operation in a stream's order. The name: of a variable.
void observe_allocated(Driver& driver, const Block& block, CUstream stream = nullptr, const char* name = nullptr);
void observe_released(Driver& driver, const Block& block, CUstream stream = nullptr);
void observe_pool(Driver& driver, const CUmemPoolHandle_st& pool, int what, std::uint64_t keep_bytes = 0);

// For the item that carries the operation out; null when nobody observes, or there is nothing to say about it.
std::unique_ptr<SoftgpuWorkEvent> describe_work(Driver& driver, const Operation& operation);

void observe_created(CUcontext context);
void observe_created(CUstream stream);
void observe_created(CUmodule module);
// It will go now. False: another thread has destroyed it meanwhile.
[[nodiscard]] bool announce_end(Call& call, CUcontext context);
[[nodiscard]] bool announce_end(Call& call, CUstream stream);
[[nodiscard]] bool announce_end(Call& call, CUlibrary library);

}  // namespace tidemark::softgpu
