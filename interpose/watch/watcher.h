// SPDX-License-Identifier: Apache-2.0
// Threads of our own in the program's process. No signal of the program's is handled on them, and they do not keep a
// process that the program's own threads have left.
//
// A watcher looks at program_has_left() from time to time and then comes to its end; the last one's ends the process,
// as the last thread's does anywhere.
#pragma once

namespace tidemark::interpose {

// False when the system gives no thread.
bool start_watcher(void (*body)());
// Whether none of the program's threads is left.
bool program_has_left();

}  // namespace tidemark::interpose
