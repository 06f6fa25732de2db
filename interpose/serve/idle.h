// SPDX-License-Identifier: Apache-2.0
// Free memory goes back to the driver when a program has neither allocated nor freed any for the time that was asked
// for (TIDEMARK_TRIM_AFTER). A thread of our own looks after that; it waits for no stream, and for no capture.
#pragma once

namespace tidemark::interpose::serve {

// When there is a cache. Does nothing where it was not asked for, or the second time.
void start_idle_trim();
// At the program's end, before the driver takes itself down.
void stop_idle_trim();

}  // namespace tidemark::interpose::serve
