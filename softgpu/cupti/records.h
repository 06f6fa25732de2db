// SPDX-License-Identifier: Apache-2.0
// CUPTI's records, in the newest structs of the headers, from what the device reports.
#pragma once
#include "softgpu/cupti/api.h"
#include "softgpu/interface/observe.h"

namespace tidemark::softgpu::cupti {

// 0: not a kind that this library writes.
std::size_t record_bytes(CUpti_ActivityKind kind);

// What the observer's tag holds.
struct Origin {
  std::uint32_t correlation = 0;
  bool is_runtime = false;  // a call of the runtime's
  bool is_async = false;    // one with "Async" in its name

  std::uint64_t packed() const;
  static Origin unpacked(std::uint64_t tag);
};

CUpti_ActivityKernel10 kernel_record(const SoftgpuWorkEvent& event, CUpti_ActivityKind kind);
bool is_peer_copy(const SoftgpuWorkEvent& event);
CUpti_ActivityMemcpy6 copy_record(const SoftgpuWorkEvent& event);
CUpti_ActivityMemcpyPtoP4 peer_copy_record(const SoftgpuWorkEvent& event);
CUpti_ActivityMemset4 set_record(const SoftgpuWorkEvent& event);
CUpti_ActivityMemory4 memory_record(const SoftgpuMemoryEvent& event);
CUpti_ActivityMemoryPool3 pool_record(const SoftgpuPoolEvent& event);
CUpti_ActivityContext3 context_record(const SoftgpuResourceEvent& event);
CUpti_ActivityStream stream_record(const SoftgpuResourceEvent& event);
// Asks the driver: inside of a Quiet scope, not under the device's lock.
CUpti_ActivityDevice5 device_record(CUdevice ordinal);

}  // namespace tidemark::softgpu::cupti
