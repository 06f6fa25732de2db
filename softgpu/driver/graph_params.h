// SPDX-License-Identifier: Apache-2.0
// The typed parameters of nodes as members of the union that describes a node of any type.
#pragma once
#include <cstring>

#include "softgpu/driver/objects.h"

namespace tidemark::softgpu {

inline CUgraphNodeParams of_type(CUgraphNodeType type) {
  CUgraphNodeParams all;
  std::memset(&all, 0, sizeof all);
  all.type = type;
  return all;
}

// What a later version may give a meaning to has to be zero.
inline bool is_clean(const CUgraphNodeParams* params) {
  return params != nullptr && params->reserved2 == 0 && params->reserved0[0] == 0 && params->reserved0[1] == 0 &&
         params->reserved0[2] == 0;
}

// The first version of a kernel's parameters ends before the two members that name a CUkernel and its context.
template <class Params>
concept NamesKernel = requires(Params p) {
  p.kern;
};

template <class Params>
CUgraphNodeParams kernel_part(const Params& p) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_KERNEL);
  all.kernel = {p.func,      p.gridDimX,       p.gridDimY,     p.gridDimZ, p.blockDimX, p.blockDimY,
                p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra,    nullptr,     nullptr};
  if constexpr (NamesKernel<Params>) {
    all.kernel.kern = p.kern;
    all.kernel.ctx = p.ctx;
  }
  return all;
}

template <class Params>
void read_kernel(const CUgraphNodeParams& all, Params& out) {
  auto const& p = all.kernel;
  out = {};
  // Before there was a member for it, a CUkernel was passed as a function.
  out.func = p.func != nullptr || NamesKernel<Params> ? p.func : reinterpret_cast<CUfunction>(p.kern);
  out.gridDimX = p.gridDimX;
  out.gridDimY = p.gridDimY;
  out.gridDimZ = p.gridDimZ;
  out.blockDimX = p.blockDimX;
  out.blockDimY = p.blockDimY;
  out.blockDimZ = p.blockDimZ;
  out.sharedMemBytes = p.sharedMemBytes;
  out.kernelParams = p.kernelParams;
  out.extra = p.extra;
  if constexpr (NamesKernel<Params>) {
    out.kern = p.kern;
    out.ctx = p.ctx;
  }
}

inline CUgraphNodeParams copy_part(const CUDA_MEMCPY3D& p, CUcontext context) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_MEMCPY);
  all.memcpy.copyCtx = context;
  all.memcpy.copyParams = p;
  return all;
}

inline CUgraphNodeParams set_part(const CUDA_MEMSET_NODE_PARAMS& p, CUcontext context) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
  all.memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, context};
  return all;
}

inline CUgraphNodeParams host_part(const CUDA_HOST_NODE_PARAMS& p) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_HOST);
  all.host = {p.fn, p.userData};
  return all;
}

inline CUgraphNodeParams child_part(const CUgraph& graph) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
  all.graph.graph = graph;
  return all;
}

inline CUgraphNodeParams record_part(const CUevent& event) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  all.eventRecord.event = event;
  return all;
}

inline CUgraphNodeParams wait_part(const CUevent& event) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  all.eventWait.event = event;
  return all;
}

inline CUgraphNodeParams batch_part(const CUDA_BATCH_MEM_OP_NODE_PARAMS& p) {
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  all.memOp = {p.ctx, p.count, p.paramArray, p.flags};
  return all;
}

}  // namespace tidemark::softgpu
