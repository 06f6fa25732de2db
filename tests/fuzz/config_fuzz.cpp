// SPDX-License-Identifier: Apache-2.0
// The little languages of SOFTGPU_FAULT and SOFTGPU_SCHEDULE.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "softgpu/model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<const char*>(data), size);
  auto const faults = tidemark::softgpu::parse_faults(text);
  if (!faults.ok() && faults.error().hint.empty()) std::abort();
  auto const schedule = tidemark::softgpu::parse_schedule(text);
  if (!schedule.ok() && schedule.error().hint.empty()) std::abort();
  return 0;
}
