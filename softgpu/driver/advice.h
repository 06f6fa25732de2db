// SPDX-License-Identifier: Apache-2.0
// What a program has said about pages of managed memory: advice and the last prefetch. It moves nothing; it is what
// cuMemRangeGetAttribute tells. Kept per block, by ranges of pages; under the engine's lock.
#pragma once
#include <cstdint>
#include <set>

#include "softgpu/driver/objects.h"
#include "softgpu/model/blocks.h"

namespace tidemark::softgpu {

struct PageAdvice {
  bool read_mostly = false;
  CUmemLocation preferred{}, prefetched{};  // type CU_MEM_LOCATION_TYPE_INVALID: none
  std::set<int> accessed_by;                // devices, or CU_DEVICE_CPU
};

void note_advice(const Block& block, CUdeviceptr at, std::size_t bytes, CUmem_advise advice,
                 const CUmemLocation& where);
void note_prefetch(const Block& block, CUdeviceptr at, std::size_t bytes, const CUmemLocation& where);
void forget_advice(const Block& block);
// What holds for every page of the range.
PageAdvice common_advice(const Block& block, CUdeviceptr at, std::size_t bytes);

}  // namespace tidemark::softgpu
