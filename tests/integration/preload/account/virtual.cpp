// SPDX-License-Identifier: Apache-2.0
// Virtual memory management, in every order that the API allows and in some that it does not.
#include "tests/integration/preload/account/walk.h"

namespace walk {

bool Walk::reserve() {
  Range range{0, granules()};
  if (cuMemAddressReserve(&range.at, range.bytes, 0, 0, 0) != CUDA_SUCCESS) return false;
  reserved_.push_back(range);
  return true;
}

bool Walk::unreserve() {
  Range const range = take(reserved_, {});
  if (range.bytes == 0) return false;
  if (cuMemAddressFree(range.at, range.bytes) == CUDA_SUCCESS) return true;
  reserved_.push_back(range);  // something is mapped there
  return false;
}

bool Walk::create_physical() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = static_cast<int>(pick(kDevices))};
  CUmemGenericAllocationHandle handle = 0;
  std::size_t const bytes = granules();
  if (cuMemCreate(&handle, bytes, &properties, 0) != CUDA_SUCCESS) return false;
  physical_.push_back(handle);
  physical_bytes_[handle] = bytes;
  return true;
}

// Once for each handle: of two that a retain made, one may go while the other stays.
bool Walk::release_physical() {
  return !physical_.empty() && cuMemRelease(take(physical_, CUmemGenericAllocationHandle{0})) == CUDA_SUCCESS;
}

bool Walk::retain_physical() {
  Range const mapping = any(mapped_, {});
  CUmemGenericAllocationHandle handle = 0;
  if (mapping.bytes == 0 ||
      cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(mapping.at + pick(mapping.bytes))) != CUDA_SUCCESS)
    return false;
  physical_.push_back(handle);
  return true;
}

bool Walk::map() {
  Range const range = any(reserved_, {});
  CUmemGenericAllocationHandle const handle = any(physical_, CUmemGenericAllocationHandle{0});
  if (range.bytes == 0 || handle == 0) return false;
  std::size_t const bytes = physical_bytes_[handle];
  CUdeviceptr const at = range.at + (pick(range.bytes >> 21) << 21);
  if (at + bytes > range.at + range.bytes || cuMemMap(at, bytes, 0, handle, 0) != CUDA_SUCCESS) return false;
  mapped_.push_back({at, bytes});
  return true;
}

bool Walk::unmap() {
  // Several at once, where they happen to stand side by side.
  if (Range const whole = any(reserved_, {}); chance(20) && whole.bytes != 0)
    return cuMemUnmap(whole.at, whole.bytes) == CUDA_SUCCESS;
  Range const mapping = take(mapped_, {});
  return mapping.bytes != 0 && cuMemUnmap(mapping.at, mapping.bytes) == CUDA_SUCCESS;
}

}  // namespace walk
