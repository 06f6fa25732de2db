// SPDX-License-Identifier: Apache-2.0
// A device, a context and kernels with CPU bodies, for tests of graphs through the driver's entry points.
#pragma once
#include <cuda.h>
#include <gtest/gtest.h>

#include <vector>

#define OK(call) ASSERT_EQ((call), CUDA_SUCCESS)
#define EXPECT_OK(call) EXPECT_EQ((call), CUDA_SUCCESS)

namespace tidemark::softgpu::test {

// extern "C" kernels of graph_kernels.cpp; a code image needs no more than their names.
inline const char* const kImage = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry graph_fill() {}
.visible .entry graph_add() {}
.visible .entry graph_scale_add() {}
.visible .entry graph_fault() {}
)";

struct Shape {
  unsigned grid = 4, block = 64;
};

class GraphTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuCtxCreate(&context, nullptr, 0, 0));
    OK(cuModuleLoadData(&module, kImage));
    OK(cuModuleGetFunction(&fill, module, "graph_fill"));
    OK(cuModuleGetFunction(&add, module, "graph_add"));
    OK(cuModuleGetFunction(&scale_add, module, "graph_scale_add"));
    OK(cuModuleGetFunction(&fault, module, "graph_fault"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&data, kCount * sizeof(int)));
    OK(cuMemsetD8(data, 0, kCount * sizeof(int)));
    OK(cuCtxSynchronize());
  }
  void TearDown() override {
    // Fresh for the next test, whatever this one left. Graphs belong to no context; some have been destroyed by now.
    EXPECT_OK(cuCtxDestroy(context));
    for (CUgraph const graph : graphs) cuGraphDestroy(graph);
  }

  static constexpr int kCount = 256;

  CUresult launch(CUfunction function, CUstream on, std::vector<void*> arguments) {
    return cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, on, arguments.data(), nullptr);
  }
  CUresult launch_fill(CUstream on, CUdeviceptr to, int value) {
    int n = kCount;
    return launch(fill, on, {&to, &n, &value});
  }
  CUresult launch_add(CUstream on, CUdeviceptr to, int value) {
    int n = kCount;
    return launch(add, on, {&to, &n, &value});
  }
  // to = to * factor + from: the order of two of them shows.
  CUresult launch_scale_add(CUstream on, CUdeviceptr to, CUdeviceptr from, int factor) {
    int n = kCount;
    return launch(scale_add, on, {&to, &from, &n, &factor});
  }

  CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = function;
    p.gridDimX = 4;
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.blockDimX = 64;
    p.kernelParams = arguments;
    return p;
  }
  CUgraphNode add_node(CUgraph graph, std::vector<CUgraphNode> after, CUdeviceptr to, int value) {
    int n = kCount;
    void* arguments[] = {&to, &n, &value};
    CUDA_KERNEL_NODE_PARAMS const p = kernel_params(add, arguments);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &p));
    return node;
  }
  CUgraphNode empty_node(CUgraph graph, std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
  }
  CUgraphNode host_node(CUgraph graph, std::vector<CUgraphNode> after, CUhostFn function, void* user) {
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = function;
    p.userData = user;
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddHostNode(&node, graph, after.data(), after.size(), &p));
    return node;
  }
  CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(std::size_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS p{};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.poolProps.location.id = 0;
    p.bytesize = bytes;
    return p;
  }
  CUgraphNode alloc_node(CUgraph graph, std::vector<CUgraphNode> after, std::size_t bytes, CUdeviceptr* address) {
    CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(bytes);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemAllocNode(&node, graph, after.data(), after.size(), &p));
    *address = p.dptr;
    return node;
  }
  CUgraphNode free_node(CUgraph graph, std::vector<CUgraphNode> after, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemFreeNode(&node, graph, after.data(), after.size(), address));
    return node;
  }
  CUresult create_graph(CUgraph* out) {
    CUresult const result = cuGraphCreate(out, 0);
    if (result == CUDA_SUCCESS) graphs.push_back(*out);
    return result;
  }
  CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiate(&exec, graph, flags));
    return exec;
  }
  CUgraph capture_end(CUstream on) {
    CUgraph graph = nullptr;
    EXPECT_OK(cuStreamEndCapture(on, &graph));
    graphs.push_back(graph);
    return graph;
  }
  static std::size_t node_count(CUgraph graph) {
    std::size_t n = 0;
    EXPECT_OK(cuGraphGetNodes(graph, nullptr, &n));
    return n;
  }
  static std::vector<CUgraphNode> nodes_of(CUgraph graph) {
    std::vector<CUgraphNode> nodes(node_count(graph));
    std::size_t n = nodes.size();
    EXPECT_OK(cuGraphGetNodes(graph, nodes.data(), &n));
    return nodes;
  }
  static CUgraphNodeType type_of(CUgraphNode node) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_OK(cuGraphNodeGetType(node, &type));
    return type;
  }
  static CUstreamCaptureStatus status_of(CUstream on) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(cuStreamIsCapturing(on, &status));
    return status;
  }
  std::vector<int> read(CUdeviceptr from) {
    std::vector<int> host(kCount);
    EXPECT_OK(cuMemcpyDtoH(host.data(), from, kCount * sizeof(int)));
    return host;
  }
  // Whether every element has this value.
  ::testing::AssertionResult all(CUdeviceptr from, int value) {
    std::vector<int> const host = read(from);
    for (int const v : host)
      if (v != value) return ::testing::AssertionFailure() << "found " << v << ", expected " << value;
    return ::testing::AssertionSuccess();
  }
  static std::uint64_t attribute(CUgraphMem_attribute which) {
    cuuint64_t value = 0;
    EXPECT_OK(cuDeviceGetGraphMemAttribute(0, which, &value));
    return value;
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    return free;
  }

  std::vector<CUgraph> graphs;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill = nullptr, add = nullptr, scale_add = nullptr, fault = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUdeviceptr data = 0;
};

}  // namespace tidemark::softgpu::test
