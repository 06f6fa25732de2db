// SPDX-License-Identifier: Apache-2.0
// Memory in the order of streams: pools, and graphs with nodes that allocate.
#include "tests/integration/preload/account/walk.h"

namespace walk {
namespace {

CUmemPoolProps pool_on(int device) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  return properties;
}

}  // namespace

bool Walk::make_stream() {
  CUstream stream = nullptr;
  if (cuStreamCreate(&stream, chance(50) ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return false;
  streams_.push_back(stream);
  return true;
}

bool Walk::destroy_stream() {
  return !streams_.empty() && cuStreamDestroy(take(streams_, CUstream{nullptr})) == CUDA_SUCCESS;
}

bool Walk::alloc_async() {
  CUdeviceptr block = 0;
  std::size_t const bytes = any_size();
  CUstream const stream = any_stream();
  CUdevice device = 0;
  if (cuMemAllocAsync(&block, bytes, stream) != CUDA_SUCCESS) return false;
  if (cuStreamGetDevice(stream, &device) != CUDA_SUCCESS) cuCtxGetDevice(&device);
  own_ordered(block, bytes, device);
  remember(block);
  return true;
}

bool Walk::alloc_from_pool() {
  CUdeviceptr block = 0;
  CUmemoryPool const pool = any(pools_, CUmemoryPool{nullptr});
  std::size_t const bytes = any_size();
  if (pool == nullptr || cuMemAllocFromPoolAsync(&block, bytes, pool, any_stream()) != CUDA_SUCCESS) return false;
  own_ordered(block, bytes, pool_devices_[pool]);
  remember(block);
  return true;
}

bool Walk::free_async() {
  CUdeviceptr const block = chance(80) ? take(blocks_, CUdeviceptr{0}) : any(blocks_, CUdeviceptr{0});
  if (block == 0 || cuMemFreeAsync(block, any_stream()) != CUDA_SUCCESS) return false;
  own_.erase(block);
  return true;
}

bool Walk::make_pool() {
  CUmemPoolProps const properties = pool_on(static_cast<int>(pick(kDevices)));
  CUmemoryPool pool = nullptr;
  if (pools_.size() > 4 || cuMemPoolCreate(&pool, &properties) != CUDA_SUCCESS) return false;
  pools_.push_back(pool);
  pool_devices_[pool] = properties.location.id;
  return true;
}

// A pool that still has blocks lives on without a name: nobody can ask what it holds without a context, so from here on
// there is always one.
bool Walk::destroy_pool() {
  CUmemoryPool const pool = take(pools_, CUmemoryPool{nullptr});
  cuuint64_t used = 0;
  if (pool == nullptr) return false;
  settle();
  cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  nameless_ = nameless_ || used != 0;
  for (int device = 0; nameless_ && device < kDevices; ++device) primary(device);
  return cuMemPoolDestroy(pool) == CUDA_SUCCESS;
}

bool Walk::trim_pool() {
  CUmemoryPool pool = any(pools_, CUmemoryPool{nullptr});
  if (pool == nullptr || chance(40)) cuDeviceGetDefaultMemPool(&pool, static_cast<int>(pick(kDevices)));
  return cuMemPoolTrimTo(pool, pick(64) << 20) == CUDA_SUCCESS;
}

bool Walk::set_threshold() {
  CUmemoryPool pool = any(pools_, CUmemoryPool{nullptr});
  if (pool == nullptr || chance(40)) cuDeviceGetDefaultMemPool(&pool, static_cast<int>(pick(kDevices)));
  cuuint64_t threshold = chance(50) ? 0 : pick(200) << 20;
  return cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) == CUDA_SUCCESS;
}

bool Walk::synchronize() {
  switch (pick(3)) {
    case 0: return cuCtxSynchronize() == CUDA_SUCCESS;
    case 1: return cuStreamSynchronize(any_stream()) == CUDA_SUCCESS;
    default: {
      CUevent event = nullptr;
      if (cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return false;
      bool const well = cuEventRecord(event, any_stream()) == CUDA_SUCCESS && cuEventSynchronize(event) == CUDA_SUCCESS;
      cuEventDestroy(event);
      return well;
    }
  }
}

bool Walk::graph_by_capture() {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CUdeviceptr kept = 0, gone = 0;
  if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return false;
  bool well = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS;
  well = well && cuMemAllocAsync(&gone, any_size(), stream) == CUDA_SUCCESS;
  well = well && cuMemFreeAsync(gone, stream) == CUDA_SUCCESS;
  well = well && cuMemAllocAsync(&kept, any_size(), stream) == CUDA_SUCCESS;
  if (chance(50)) well = well && cuMemFreeAsync(kept, stream) == CUDA_SUCCESS;
  well = cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && well;
  well = well && cuGraphInstantiate(&made, graph, 0) == CUDA_SUCCESS;
  if (graph != nullptr) cuGraphDestroy(graph);
  cuStreamDestroy(stream);
  if (!well) return false;
  graphs_.push_back(made);
  remember(kept);
  return true;
}

bool Walk::graph_by_nodes() {
  CUgraph graph = nullptr;
  CUgraphNode alloc_node = nullptr, free_node = nullptr;
  CUgraphExec made = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps = pool_on(static_cast<int>(pick(kDevices)));
  params.bytesize = any_size();
  if (cuGraphCreate(&graph, 0) != CUDA_SUCCESS) return false;
  bool well = cuGraphAddMemAllocNode(&alloc_node, graph, nullptr, 0, &params) == CUDA_SUCCESS;
  if (chance(50)) well = well && cuGraphAddMemFreeNode(&free_node, graph, &alloc_node, 1, params.dptr) == CUDA_SUCCESS;
  well = well && cuGraphInstantiate(&made, graph, 0) == CUDA_SUCCESS;
  cuGraphDestroy(graph);
  if (!well) return false;
  graphs_.push_back(made);
  remember(params.dptr);
  return true;
}

bool Walk::launch_graph() {
  return !graphs_.empty() && cuGraphLaunch(any(graphs_, CUgraphExec{nullptr}), any_stream()) == CUDA_SUCCESS;
}

bool Walk::destroy_graph() {
  return !graphs_.empty() && cuGraphExecDestroy(take(graphs_, CUgraphExec{nullptr})) == CUDA_SUCCESS;
}

bool Walk::trim_graphs() {
  return cuDeviceGraphMemTrim(static_cast<CUdevice>(pick(kDevices))) == CUDA_SUCCESS;
}

}  // namespace walk
