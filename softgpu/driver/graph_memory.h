// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate and free.
#pragma once
#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// cuMemAllocAsync in a capturing stream: a memory node.
CUresult capture_allocation(Call& call, CUstream stream, std::uint64_t bytes, int device, CUdeviceptr* out);
// cuMemFreeAsync of graph memory: a node when the stream captures, else an ordinary free of what a launch left alive.
CUresult free_graph_block(Call& call, Block* block, CUstream stream);

}  // namespace tidemark::softgpu
