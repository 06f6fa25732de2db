// SPDX-License-Identifier: Apache-2.0
// A fault inside a kernel (wild pointer, stack overflow, integer division by zero) ends the launch with an error, as it
// does on a GPU, and not the program.
//
// One handler per library for SIGSEGV, SIGBUS, SIGFPE and SIGILL, installed at its first launch. It acts only while the
// faulting thread is inside a kernel; anything else goes to the handler that was there before. If the host installs its
// own later, that one wins. Absent in sanitized builds, whose own report of the fault says more.
// A kernel that faults inside the C library (say, printf of a wild pointer) may leave a lock of it taken.
#pragma once

namespace tidemark::softgpu {

class Engine;
// Called on the engine's own thread when it is made, and when that thread ends.
void meet_faults(Engine& engine);
void leave_faults(Engine& engine);

}  // namespace tidemark::softgpu
