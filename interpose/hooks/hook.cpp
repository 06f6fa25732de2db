// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/hook.h"

namespace tidemark::interpose {

void count_reentered() {
  if (recording()) recorder().count_loss(trace::Loss::Reentered);
}

std::uint64_t block_bytes(CUdeviceptr block) {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  return call(&Driver::cuMemGetAddressRange_v2, &base, &bytes, block) == CUDA_SUCCESS ? bytes : 0;
}

void refused(const Request& request, const Place& place, CUresult error) {
  if (error != CUDA_ERROR_OUT_OF_MEMORY) return;
  std::size_t free = 0, total = 0;
  if (place.context != 0) call(&Driver::cuMemGetInfo_v2, &free, &total);
  recorder().failure({.block_class = static_cast<std::uint64_t>(request.block_class),
                      .device = place.device,
                      .error = static_cast<std::uint64_t>(error),
                      .size_bytes = request.size_bytes,
                      .free_bytes = free},
                     {});
}

}  // namespace tidemark::interpose
