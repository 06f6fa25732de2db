// SPDX-License-Identifier: Apache-2.0
// Reads the unwinding tables of a loaded object: .eh_frame_hdr, which is sorted, and the entries of .eh_frame that it
// points to (Linux Standard Base, "Exception Frames"; DWARF, "Call Frame Information").
//
// Pure functions over memory that the dynamic linker has mapped; any thread, also in a signal handler.
#pragma once
#include <cstddef>
#include <cstdint>

#include "interpose/stack/rule.h"

namespace tidemark::interpose {

// The rule at an instruction. `eh_frame_hdr` is the object's segment of that name.
Rule rule_in_tables(const std::byte* eh_frame_hdr, std::uintptr_t instruction);

}  // namespace tidemark::interpose
