// SPDX-License-Identifier: Apache-2.0
// The look-up of entry points by name and version. Compiled with SOFTGPU_PUBLIC_NAMES: the addresses given out are
// those of the exported functions.
#include "softgpu/driver/procs.h"

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
// The interop headers need the types that stand before them.
#include <GL/gl.h>
#include <vdpau/vdpau.h>

#include <cuda.h>
#include <cudaEGL.h>
#include <cudaGL.h>
#include <cudaProfiler.h>
#include <cudaVDPAU.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstring>
#include <iterator>

namespace {

struct Proc {
  const char* name;
  int version;
  void* plain;
  void* per_thread;
};

const Proc kProcs[] = {
#define SOFTGPU_PROC(name, version, symbol, twin) {#name, version, reinterpret_cast<void*>(&symbol), (void*)(twin)},
#include <driver_procs.inc>
#undef SOFTGPU_PROC
};

}  // namespace

CUresult tidemark::softgpu::look_up(const char* name, void** out, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  constexpr cuuint64_t kKnown = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  auto const answer = [&](CUdriverProcAddressQueryResult s, CUresult result) {
    if (status != nullptr) *status = s;
    return result;
  };
  const Proc* best = nullptr;
  bool known = false;
  auto const range = std::equal_range(std::begin(kProcs), std::end(kProcs), Proc{name, 0, nullptr, nullptr},
                                      [](const Proc& a, const Proc& b) { return std::strcmp(a.name, b.name) < 0; });
  for (const Proc* p = range.first; p != range.second; ++p) {
    known = true;
    if (p->version <= version) best = p;
  }
  if (!known) return answer(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
  if (best == nullptr) return answer(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, CUDA_ERROR_NOT_FOUND);
  bool const per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *out = per_thread && best->per_thread != nullptr ? best->per_thread : best->plain;
  return answer(CU_GET_PROC_ADDRESS_SUCCESS, CUDA_SUCCESS);
}
