// SPDX-License-Identifier: Apache-2.0
// The dynamic linker as it is without us, and questions about where an address lies.
//
// Any thread, any time, also before main and while the process ends. Nothing is taken from the heap.
#pragma once

namespace tidemark::interpose {

using Dlsym = void* (*)(void* handle, const char* name);

// glibc's own dlsym. Called from here the caller that it sees is this library, so RTLD_NEXT means "after us".
Dlsym real_dlsym();

// A loaded object, to be compared: the one at an address, the one that a handle stands for. Null for none.
const void* object_at(const void* address);
const void* object_of(void* handle);
// A handle of the loaded object that has this name, as its own (SONAME) or as its file's, ourselves excepted. Null for
// none; unlike dlopen with RTLD_NOLOAD it then has searched no folder and left nothing for dlerror.
void* loaded_object(const char* name);
// How many objects were ever loaded: as long as it stays the same, what was not there is not there.
unsigned long long loaded_count();

// The dlsym behind ours: glibc's, or that of a library which was preloaded after this one.
Dlsym next_dlsym();
// Whether an address lies in this library.
bool is_ours(const void* address);
// Whether an address lies in the driver's own libraries. They look themselves up by name and must find themselves.
bool in_driver(const void* address);

}  // namespace tidemark::interpose
