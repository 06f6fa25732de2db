// SPDX-License-Identifier: Apache-2.0
// A checked launch, ready to be queued or to become a graph's node.
#pragma once
#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

// What a launch attribute asks of a software device: nothing, a flag, or something it has not.
CUresult apply_attribute(const CUkern_st& kernel, const CUlaunchAttribute& attribute, SoftgpuLaunch& shape);
CUresult check_cluster(const CUkern_st& kernel, const SoftgpuLaunch& shape, const SoftgpuDim& cluster);
CUresult prepare_launch(Call& call, CUfunction function, const SoftgpuLaunch& shape, void** params, void** extra,
                        KernelOp* out);

}  // namespace tidemark::softgpu
