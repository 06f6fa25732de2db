// SPDX-License-Identifier: Apache-2.0
// A thread that asks NVML ten times a second what each device has given, for the trace. It exists only where there is
// an NVML, from the first block on. Signals pass it by. It is stopped before the libraries that it calls are taken
// down.
#pragma once

namespace tidemark::interpose {

void start_sampler();
// Waits until the thread has ended, a tenth of a second at most: afterwards it calls nothing any more.
void stop_sampler();

}  // namespace tidemark::interpose
