// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: the driver answers first, and where the address is one that we stand in for, the hook takes its
// place. Name, version and flags are the driver's business, and so are its errors and its status.
#include <string.h>

#include "interpose/doors/table.h"
#include "interpose/hooks/graph_memory.h"
#include "interpose/hooks/hook.h"
#include "interpose/order/order.h"

using namespace tidemark::interpose;

namespace {

void swap(const char* plain, void** function, cuuint64_t flags) {
  if (plain == nullptr || function == nullptr || *function == nullptr) return;
  bool const per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  shield([&] {
    void* const given = hook_for_address(plain, *function, per_thread);
    // A form of this function that is newer than our headers: its nodes may allocate, and we shall not see which do.
    if (given == *function && strcmp(plain, "cuGraphAddNode") == 0) expect_graph_memory();
    if (!is_known(plain)) order::met_unknown(plain);
    *function = given;
  });
}

}  // namespace

TIDEMARK_HOOK(cuGetProcAddress)(const char* plain, void** function, int version, cuuint64_t flags) {
  CUresult const result = call(&Driver::cuGetProcAddress, plain, function, version, flags);
  if (result == CUDA_SUCCESS) swap(plain, function, flags);
  return result;
}

TIDEMARK_HOOK(cuGetProcAddress_v2)
(const char* plain, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUresult const result = call(&Driver::cuGetProcAddress_v2, plain, function, version, flags, status);
  if (result == CUDA_SUCCESS) swap(plain, function, flags);
  return result;
}
