// SPDX-License-Identifier: Apache-2.0
// The ids under which records name contexts and streams. Not under the device's lock.
#pragma once
#include "softgpu/cupti/api.h"

namespace tidemark::softgpu::cupti {

struct StreamIds {
  std::uint32_t stream = CUPTI_INVALID_STREAM_ID;
  std::uint32_t context = CUPTI_INVALID_CONTEXT_ID;
};

// A handle as a program passes it, 0 included: which default stream that is depends on the form of the call.
// INVALID: not a stream.
StreamIds ids_of(CUstream stream, bool per_thread);
std::uint32_t id_of(CUcontext context);
std::uint32_t current_context_id();

}  // namespace tidemark::softgpu::cupti
