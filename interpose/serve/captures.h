// SPDX-License-Identifier: Apache-2.0
// Captures of streams into graphs. While one is going on, memory is the driver's own business, so that what is unsafe
// there stays so; what is freed waits until it is over; and no call of the allocator's touches a captured stream.
#pragma once
#include <cstdint>

#include "interpose/real/driver.h"

namespace tidemark::interpose::serve {

// Whether a capture is going on anywhere in this process.
bool capturing();

// Around the call that begins one; `handle` and `per_thread` as the program gave them.
struct CaptureBegin {
  std::uint64_t key = 0;
};
CaptureBegin before_capture(CUstream stream, bool per_thread);
void after_capture_begun(const CaptureBegin& begin, bool well);
// After the call that ends one.
void after_capture_ended(CUstream stream, bool per_thread);

// A stream is about to be destroyed, and with it a capture that began there.
void capture_loses(std::uint64_t stream);

// For a call of the allocator's that names a stream: false where a capture forbids it. leave_stream() when it is done.
bool enter_stream(CUstream stream);
void leave_stream();

}  // namespace tidemark::interpose::serve
