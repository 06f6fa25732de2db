// SPDX-License-Identifier: Apache-2.0
// The fake driver's cuGetProcAddress: by name, version and flags, with addresses of its own as a real driver may have.
// FAKE_DRIVER_VERSION says how old the driver is; before 12000 it has no cuGetProcAddress_v2.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <cstdlib>
#include <cstring>

#include "tests/integration/doors/fake/fake.h"

#define FAKE_NAME(symbol) extern "C" char fake_##symbol[], fake_handed_##symbol[];
#define FAKE_PROC(plain, version, symbol, twin)
#include FAKE_ROWS
#undef FAKE_NAME
#undef FAKE_PROC

namespace {

struct Proc {
  const char* plain;
  int version;
  void *function, *twin;
};
constexpr char* fake_handed_0 = nullptr;  // no twin

const Proc kProcs[] = {
#define FAKE_NAME(symbol)
#define FAKE_PROC(plain, version, symbol, twin) {#plain, version, fake_handed_##symbol, fake_handed_##twin},
#include FAKE_ROWS
#undef FAKE_NAME
#undef FAKE_PROC
};

int driver_version() {
  const char* const text = std::getenv("FAKE_DRIVER_VERSION");
  return text == nullptr ? 13000 : std::atoi(text);
}

CUresult find(const char* plain, void** function, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult* status) {
  if (plain == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (Proc const& proc : kProcs) {  // sorted: the last that is old enough is the newest
    if (std::strcmp(proc.plain, plain) != 0 || proc.version > driver_version()) continue;
    if (proc.version > version) {
      if (*function == nullptr) found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      continue;
    }
    bool const twin = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 && proc.twin != nullptr;
    *function = twin ? proc.twin : proc.function;
    found = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  if (status != nullptr) *status = found;
  return *function != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult find_4(const char* plain, void** function, int version, cuuint64_t flags) {
  return find(plain, function, version, flags, nullptr);
}

__attribute__((constructor)) void install() {
  fake_override("cuGetProcAddress", reinterpret_cast<void*>(&find_4));
  fake_override("cuGetProcAddress_v2", reinterpret_cast<void*>(&find));
}

}  // namespace
