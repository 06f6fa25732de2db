// SPDX-License-Identifier: Apache-2.0
// What every NVML call begins with: is the library initialised, is the handle one of ours, what does the device say
// now. Threads: any thread may call anything; only the initialisation count is shared state.
#pragma once
#include <cstddef>
#include <cstdint>

#include "softgpu/interface/device_link.h"
// Declares every version of every name, the unversioned ones included.
#ifndef NVML_NO_UNVERSIONED_FUNC_DEFS
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#endif
#pragma GCC visibility push(default)
#include <nvml.h>
#pragma GCC visibility pop

namespace tidemark::softgpu::nvml {

nvmlReturn_t open_session(unsigned flags);
nvmlReturn_t close_session();
bool is_open();
const DeviceLink& device();  // after a successful open

constexpr unsigned kMaxDevices = 64;
nvmlDevice_t handle_of(unsigned index);
// The device's index, or -1 when the handle is none of ours.
int index_of(nvmlDevice_t handle);

// Copies with the terminating zero; NVML_ERROR_INSUFFICIENT_SIZE when it does not fit.
nvmlReturn_t give_text(const char* text, char* out, unsigned length);
void format_uuid(const unsigned char (&uuid)[16], char (&out)[NVML_DEVICE_UUID_BUFFER_SIZE]);

// Runs body once the library is open and the arguments are there.
template <class F>
nvmlReturn_t in_session(bool arguments, F body) {
  if (!is_open()) return NVML_ERROR_UNINITIALIZED;
  return arguments ? body() : NVML_ERROR_INVALID_ARGUMENT;
}

// The same with the device's index and what it says of itself at this moment.
template <class F>
nvmlReturn_t with_device(nvmlDevice_t handle, bool arguments, F body) {
  return in_session(arguments && index_of(handle) >= 0, [&]() -> nvmlReturn_t {
    int const index = index_of(handle);
    SoftgpuDeviceInfo info{};
    return device().device_info(index, &info) == 0 ? body(index, info) : NVML_ERROR_GPU_IS_LOST;
  });
}

}  // namespace tidemark::softgpu::nvml
