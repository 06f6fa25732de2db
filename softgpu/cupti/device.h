// SPDX-License-Identifier: Apache-2.0
// The device as this library sees it: what it needs of libcuda.so.1 besides device_link(). Threads: any.
// any.
#pragma once
#include <cudaTypedefs.h>

#include "softgpu/cupti/api.h"
#include "softgpu/interface/observe.h"

namespace tidemark::softgpu::cupti {

struct Device {
  decltype(&softgpu_observe) observe;
  decltype(&softgpu_clock) clock;
  decltype(&softgpu_clock_is_simulated) clock_is_simulated;
  decltype(&softgpu_current_context) current_context;
  decltype(&softgpu_kernel_name) kernel_name;
  decltype(&softgpu_resources) resources;
  // Entry points of the driver. They are fronts: call them inside a Quiet scope.
  PFN_cuCtxGetId_v12000 context_id;
  PFN_cuCtxGetDevice_v13000 context_device;
  PFN_cuStreamGetId_v12000 stream_id;
  PFN_cuStreamGetCtx_v9020 stream_context;
  PFN_cuDeviceGetCount_v2000 device_count;
  PFN_cuDeviceGetAttribute_v2000 device_attribute;
  PFN_cuDeviceGetName_v2000 device_name;
  PFN_cuDeviceTotalMem_v3020 device_memory;
  PFN_cuDeviceGetUuid_v11040 device_uuid;
};

// nullptr when there is no libcuda, or one of another make; said once on stderr.
const Device* device();

// Fills the observer slots of libcuda and of the runtime, if it is loaded. null: nobody observes.
void set_observer(const SoftgpuObserver* observer);
// The kernel behind a runtime's `const void* func`, or null.
const char* runtime_kernel_name(const void* func);

}  // namespace tidemark::softgpu::cupti
