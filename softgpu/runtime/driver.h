// SPDX-License-Identifier: Apache-2.0
// The driver as this runtime sees it: libcuda.so.1, opened at the first need, every function asked for through
// cuGetProcAddress_v2 by its plain name and the version of its ABI, as the vendor's runtime does. Nothing is linked.
//
// There are two tables: in one, stream 0 is the legacy default stream; in the other it is the calling thread's own.
// Inside a twin entry point (PerThreadDefaultStream) the second one answers. Both are filled once and then constant, so
// that any thread may read them. They outlive every exit handler.
#pragma once
#include <cstddef>

#include "softgpu/interface/default_stream.h"
#include "softgpu/runtime/api.h"

namespace tidemark::softgpu::runtime {

struct Driver {
#define SOFTGPU_DRIVER(name, version) PFN_##name##_v##version name;
#define SOFTGPU_DRIVER_STREAM(name, version, twin) PFN_##name##_v##version name;
#include "softgpu/runtime/driver_functions.inc"
#undef SOFTGPU_DRIVER
#undef SOFTGPU_DRIVER_STREAM
};

// Opens libcuda and fills the tables, once. cudaErrorInsufficientDriver when there is none, or none that is new enough.
cudaError_t load_driver();
// load_driver() and cuInit, once; the error stays.
cudaError_t initialize_driver();
// The version of the loaded driver, 0 when there is none.
int driver_version();
// The address that libcuda gives for a softgpu_ function; null with a driver of another make.
void* find_softgpu(const char* name);

namespace detail {
extern Driver legacy_table, per_thread_table;
CUresult missing(std::size_t offset);
}  // namespace detail

inline const Driver& driver() {
  return PerThreadDefaultStream::active() ? detail::per_thread_table : detail::legacy_table;
}

// Calls a driver function; one that the driver does not have is named once and answers "not supported".
template <class... P, class... A>
CUresult call(CUresult (*Driver::*function)(P...), A... arguments) {
  const Driver& table = driver();
  auto const address = table.*function;
  if (address == nullptr) [[unlikely]]
    return detail::missing(static_cast<std::size_t>(reinterpret_cast<const char*>(&(table.*function)) -
                                                    reinterpret_cast<const char*>(&table)));
  return address(arguments...);
}

}  // namespace tidemark::softgpu::runtime
