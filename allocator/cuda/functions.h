// SPDX-License-Identifier: Apache-2.0
// The driver's functions that the allocator needs, as a table that it is given: it opens no library and looks no name
// up.
#pragma once
#include <cuda.h>

#include <cstddef>

namespace tidemark::allocator {

// A function that is null is one that this driver does not have; can_map() is false without those of mapped memory. The
// types are spelt out where the header's name is a macro for the newest ABI, or an older one, as its reader chooses.
struct DriverFunctions {
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  CUresult (*push_current)(CUcontext) = nullptr;
  CUresult (*pop_current)(CUcontext*) = nullptr;
  CUresult (*synchronize)() = nullptr;
  CUresult (*get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*memory_info)(size_t*, size_t*) = nullptr;
  CUresult (*allocate)(CUdeviceptr*, size_t) = nullptr;
  CUresult (*free)(CUdeviceptr) = nullptr;

  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) release = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) destroy = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;

  decltype(&cuEventCreate) create_event = nullptr;
  CUresult (*destroy_event)(CUevent) = nullptr;
  CUresult (*record)(CUevent, CUstream) = nullptr;
  decltype(&cuEventQuery) query = nullptr;
  decltype(&cuEventSynchronize) wait = nullptr;
  CUresult (*wait_in_stream)(CUstream, CUevent, unsigned int) = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode = nullptr;

  decltype(&cuStreamCreate) create_stream = nullptr;
  CUresult (*set_words)(CUdeviceptr, unsigned int, size_t, CUstream) = nullptr;
};

}  // namespace tidemark::allocator
