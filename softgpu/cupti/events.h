// SPDX-License-Identifier: Apache-2.0
// The observer: what libcuda and libcudart call.
#pragma once
#include "softgpu/cupti/api.h"
#include "softgpu/interface/observe.h"

namespace tidemark::softgpu::cupti {

extern const SoftgpuObserver kObserver;

// calls.cpp: no lock held.
void enter(SoftgpuCall* call);
void leave(SoftgpuCall* call);
std::uint32_t next_correlation();
// The external ids of the thread, once per correlation id, before the first record that carries it.
void record_external(std::uint32_t correlation);

// events.cpp. Under the device's lock, but for the last two.
std::uint64_t tag();
void memory(const SoftgpuMemoryEvent* event);
void pool(const SoftgpuPoolEvent* event);
void work(const SoftgpuWorkEvent* event);
void created(const SoftgpuResourceEvent* event);
void destroying(const SoftgpuResourceEvent* event);
// Tells the subscriber what was created during the call that ends now.
void tell_created();

// sync.cpp: what waits, and events as points in time. At the end of a driver call.
void after_driver_call(const SoftgpuCall& call, std::uint64_t start, std::uint64_t end);

// Records of the devices, contexts or streams that are there (cuptiActivityEnableAndDump).
void record_existing(CUpti_ActivityKind kind);
void record_devices();

// One callback to the subscriber, if it wants it: CUDA may be called from inside.
void call_back(CUpti_CallbackDomain domain, std::uint32_t id, const void* data);

}  // namespace tidemark::softgpu::cupti
