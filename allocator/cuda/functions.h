// SPDX-License-Identifier: Apache-2.0
// The driver's functions that the allocator needs, as a table that it is given: it opens no library and looks no name
// up.
#pragma once
#include <cuda.h>

namespace tidemark::allocator {

// A function that is null is one that this driver does not have; can_map() is false without those of mapped memory.
struct DriverFunctions {
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  decltype(&cuCtxPushCurrent) push_current = nullptr;
  decltype(&cuCtxPopCurrent) pop_current = nullptr;
  decltype(&cuCtxSynchronize) synchronize = nullptr;
  CUresult (*get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  decltype(&cuMemGetInfo) memory_info = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;

  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) release = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) destroy = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;

  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record = nullptr;
  decltype(&cuEventQuery) query = nullptr;
  decltype(&cuEventSynchronize) wait = nullptr;
  decltype(&cuStreamWaitEvent) wait_in_stream = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;
};

}  // namespace tidemark::allocator
