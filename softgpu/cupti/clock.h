// SPDX-License-Identifier: Apache-2.0
// CUPTI's time: the device's clock moved to the epoch that CUPTI documents (CLOCK_REALTIME), by an amount that is taken
// once, so that a step of the system's clock never makes records and cuptiGetTimestamp differ. A client may bring a
// clock of its own; the device's times are then moved by the difference seen at the latest call. Threads: any.
#pragma once
#include "softgpu/cupti/api.h"

namespace tidemark::softgpu::cupti {

// Not under the device's lock: a client's clock may be asked.
std::uint64_t now();
// A time of the device. Takes no lock.
std::uint64_t from_device(std::uint64_t device_ns);
void forget_client_clock();

}  // namespace tidemark::softgpu::cupti
