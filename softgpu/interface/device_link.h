// SPDX-License-Identifier: Apache-2.0
// How a sister library (cuBLAS, NVML) finds the software device: libcuda.so.1 from the dynamic linker, else the one
// beside the library itself. Resolved once per process; threads may call it at any time; nothing is ever closed, since
// work may still be queued when the process ends.
#pragma once
#include "softgpu/interface/softgpu.h"

namespace tidemark::softgpu {

struct DeviceLink {
  void* library = nullptr;
  decltype(&softgpu_submit) submit = nullptr;
  decltype(&softgpu_dry_run) dry_run = nullptr;
  decltype(&softgpu_workers) workers = nullptr;
  decltype(&softgpu_parallel) parallel = nullptr;
  decltype(&softgpu_device_count) device_count = nullptr;
  decltype(&softgpu_device_info) device_info = nullptr;
  decltype(&softgpu_processes) processes = nullptr;
  decltype(&softgpu_driver_version) driver_version = nullptr;
  // A driver entry point by its exported name; null when the device library has none.
  void* driver_symbol(const char* name) const;
};

// Null when there is no software device: libcuda.so.1 is missing, or it is a real driver.
const DeviceLink* device_link();

}  // namespace tidemark::softgpu
