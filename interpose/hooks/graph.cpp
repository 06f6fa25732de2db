// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "interpose/hooks/graph_memory.h"
#include "interpose/hooks/hook.h"
#include "interpose/order/order.h"

namespace tidemark::interpose {
namespace {

constinit std::atomic<bool> expected{false};
constinit std::array<std::uint64_t, Devices::kMost> pool_bytes{};
constinit SpinLock lock;

// A pool has no address of its own: its number stands in, far from any address of memory.
std::uint64_t pool_name(std::uint8_t device) {
  return std::uint64_t{0x67} << 56 | std::uint64_t{device} << 8;
}

// True when that is news.
bool set_pool(std::uint8_t device, std::uint64_t bytes) {
  std::scoped_lock const guard(lock);
  std::uint64_t& before = pool_bytes[device % Devices::kMost];
  if (before == bytes) return false;
  if (before != 0) recorder().left(recorder().leave(trace::Space::Memory, pool_name(device)));
  if (bytes != 0)
    recorder().allocated(
        {.address = pool_name(device), .size_bytes = bytes, .block_class = trace::Class::Graph, .device = device});
  before = bytes;
  return true;
}

// A graph may allocate on any device, whatever is current.
void sample_pools() {
  int count = 0;
  call(&Driver::cuDeviceGetCount, &count);
  for (CUdevice device = 0; device < count; ++device) {
    cuuint64_t bytes = 0;
    call(&Driver::cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
         static_cast<void*>(&bytes));
    auto const number = static_cast<std::uint8_t>(device);
    if (set_pool(number, bytes)) devices().sample(number);
  }
  devices().sample_moved();
}

template <class Real>
CUresult after(Real real) {
  CUresult const result = with_relief(-1, real);
  // A launch that failed may have trimmed the pools before.
  if (expected.load(std::memory_order_relaxed) && ready()) shield(sample_pools);
  return result;
}

// A graph's launch is work in a stream, and its upload too.
constexpr order::Entry entry(const char* name, bool per_thread) {
  return {.name = name, .library = Library::Driver, .work = order::Work::Graph, .per_thread = per_thread, .slot = 1};
}
constexpr order::Entry kLaunch = entry("cuGraphLaunch", false), kLaunchTwin = entry("cuGraphLaunch_ptsz", true),
                       kUpload = entry("cuGraphUpload", false), kUploadTwin = entry("cuGraphUpload_ptsz", true);

void tell(const order::Entry& which, CUstream stream) {
  order::tell(which, reinterpret_cast<std::uint64_t>(stream));
}

}  // namespace

void expect_graph_memory() {
  expected.store(true, std::memory_order_relaxed);
}

void sample_graph_memory() {
  if (expected.load(std::memory_order_relaxed)) sample_pools();
}

}  // namespace tidemark::interpose

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuGraphAddMemAllocNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after_nodes, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  expect_graph_memory();
  return call(&Driver::cuGraphAddMemAllocNode, node, graph, after_nodes, count, params);
}
TIDEMARK_HOOK(cuGraphAddNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after_nodes, size_t count, CUgraphNodeParams* params) {
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) expect_graph_memory();
  return call(&Driver::cuGraphAddNode, node, graph, after_nodes, count, params);
}
TIDEMARK_HOOK(cuGraphAddNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after_nodes, const CUgraphEdgeData* edges, size_t count,
 CUgraphNodeParams* params) {
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) expect_graph_memory();
  return call(&Driver::cuGraphAddNode_v2, node, graph, after_nodes, edges, count, params);
}
TIDEMARK_HOOK(cuGraphLaunch)(CUgraphExec graph, CUstream stream) {
  tell(kLaunch, stream);
  return after([&] { return call(&Driver::cuGraphLaunch, graph, stream); });
}
TIDEMARK_HOOK(cuGraphLaunch_ptsz)(CUgraphExec graph, CUstream stream) {
  tell(kLaunchTwin, stream);
  return after([&] { return call(&Driver::cuGraphLaunch_ptsz, graph, stream); });
}
TIDEMARK_HOOK(cuGraphUpload)(CUgraphExec graph, CUstream stream) {
  tell(kUpload, stream);
  return after([&] { return call(&Driver::cuGraphUpload, graph, stream); });
}
TIDEMARK_HOOK(cuGraphUpload_ptsz)(CUgraphExec graph, CUstream stream) {
  tell(kUploadTwin, stream);
  return after([&] { return call(&Driver::cuGraphUpload_ptsz, graph, stream); });
}
// An executable graph may be uploaded as it is made.
TIDEMARK_HOOK(cuGraphInstantiate)
(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return after([&] { return call(&Driver::cuGraphInstantiate, out, graph, error_node, log, log_bytes); });
}
TIDEMARK_HOOK(cuGraphInstantiate_v2)
(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return after([&] { return call(&Driver::cuGraphInstantiate_v2, out, graph, error_node, log, log_bytes); });
}
TIDEMARK_HOOK(cuGraphInstantiateWithFlags)(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return after([&] { return call(&Driver::cuGraphInstantiateWithFlags, out, graph, flags); });
}
TIDEMARK_HOOK(cuGraphInstantiateWithParams)
(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params != nullptr && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0)
    tell(kUpload, params->hUploadStream);
  return after([&] { return call(&Driver::cuGraphInstantiateWithParams, out, graph, params); });
}
TIDEMARK_HOOK(cuGraphInstantiateWithParams_ptsz)
(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params != nullptr && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0)
    tell(kUploadTwin, params->hUploadStream);
  return after([&] { return call(&Driver::cuGraphInstantiateWithParams_ptsz, out, graph, params); });
}
TIDEMARK_HOOK(cuGraphExecDestroy)(CUgraphExec graph) {
  return after([&] { return call(&Driver::cuGraphExecDestroy, graph); });
}
TIDEMARK_HOOK(cuDeviceGraphMemTrim)(CUdevice device) {
  return after([&] { return call(&Driver::cuDeviceGraphMemTrim, device); });
}
