// SPDX-License-Identifier: Apache-2.0
// The libraries that hooks stand in for. They are found by the name that they are loaded under and never opened for the
// program's sake: looking for one must not change what the program finds. Once found, one stays: what is called must.
//
// A function of theirs is taken from the library's own handle, not by global search order: frameworks export forwarding
// stubs under the same names, which would come back to us. Any thread, any time.
#pragma once
#include <cstddef>

namespace tidemark::interpose {

enum class Library : unsigned char { Driver, Runtime12, Runtime13, Nvml };
inline constexpr std::size_t kLibraryCount = 4;

constexpr Library runtime(int major) {
  return major == 12 ? Library::Runtime12 : Library::Runtime13;
}

// Null while the library is not in the process.
void* library_handle(Library library);
// Null when it is not here or has no such name.
void* library_symbol(Library library, const char* name);
// Whether an address lies in it. Of two copies of one library only the one that programs get by its name counts: the
// other has a state of its own, and a call for it must not be turned into one for the first.
bool holds(Library library, const void* address);

// What stands behind us under a name: a framework's stub that opens the library at its first call. Asked only while the
// library itself is not here, and never kept: the stub will look the function up and find us.
void* behind_us(const char* name);

}  // namespace tidemark::interpose
