// SPDX-License-Identifier: Apache-2.0
// The vendor's public headers as every file of this library reads them: entry points take their visibility from the
// declaration.
#pragma once
#pragma GCC visibility push(default)
#include <cupti.h>
#pragma GCC visibility pop

#include <cstddef>
#include <cstdint>

namespace tidemark::softgpu::cupti {

// What every entry point returns: a failure is also the thread's last error (cuptiGetLastError).
CUptiResult answer(CUptiResult result);
// A child of fork has no device and must not touch locks that were held at the fork: it hears "not initialised".
bool is_forked();

}  // namespace tidemark::softgpu::cupti
