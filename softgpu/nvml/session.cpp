// SPDX-License-Identifier: Apache-2.0
#include "softgpu/nvml/session.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace tidemark::softgpu::nvml {
namespace {

std::mutex mutex;
std::atomic<int> opened{0};
// A handle is the address of its index's byte; nothing is stored there.
char handles[kMaxDevices];

}  // namespace

nvmlReturn_t open_session(unsigned flags) {
  constexpr unsigned kKnown = NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH;
  if ((flags & ~kKnown) != 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::lock_guard const lock(mutex);
  if (device_link() == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  if (device_link()->device_count() == 0 && (flags & NVML_INIT_FLAG_NO_GPUS) == 0) return NVML_ERROR_NOT_FOUND;
  ++opened;
  return NVML_SUCCESS;
}

nvmlReturn_t close_session() {
  std::lock_guard const lock(mutex);
  if (opened == 0) return NVML_ERROR_UNINITIALIZED;
  --opened;
  return NVML_SUCCESS;
}

bool is_open() {
  return opened.load() > 0;
}
const DeviceLink& device() {
  return *device_link();
}

nvmlDevice_t handle_of(unsigned index) {
  return reinterpret_cast<nvmlDevice_t>(&handles[index]);
}

int index_of(nvmlDevice_t handle) {
  auto const address = reinterpret_cast<std::uintptr_t>(handle), first = reinterpret_cast<std::uintptr_t>(handles);
  if (address < first || address >= first + kMaxDevices) return -1;
  auto const index = static_cast<int>(address - first);
  return index < device().device_count() ? index : -1;
}

nvmlReturn_t give_text(const char* text, char* out, unsigned length) {
  std::size_t const bytes = std::strlen(text) + 1;
  if (bytes > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text, bytes);
  return NVML_SUCCESS;
}

void format_uuid(const unsigned char (&uuid)[16], char (&out)[NVML_DEVICE_UUID_BUFFER_SIZE]) {
  int at = std::snprintf(out, sizeof out, "GPU-");
  for (int i = 0; i < 16; ++i) {
    bool const dash = i == 4 || i == 6 || i == 8 || i == 10;
    at += std::snprintf(out + at, sizeof out - static_cast<std::size_t>(at), dash ? "-%02x" : "%02x", uuid[i]);
  }
}

}  // namespace tidemark::softgpu::nvml
