// SPDX-License-Identifier: Apache-2.0
// A graph as a DOT file: a cluster for each child graph, a box for each node with what its flags ask for.
#include <cstdio>

#include "softgpu/driver/graph.h"
#include "softgpu/driver/graph_memory.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

std::string hex(std::uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string hex(const void* p) {
  return hex(reinterpret_cast<std::uintptr_t>(p));
}

std::string shape(const SoftgpuDim& d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

const char* side(CUmemorytype type) {
  return type == CU_MEMORYTYPE_HOST ? "host" : type == CU_MEMORYTYPE_ARRAY ? "array" : "device";
}

// The label of one node: lines, of which the first says what it is.
struct Label {
  Driver& driver;
  unsigned flags;
  std::string text;

  bool wants(CUgraphDebugDot_flags flag) const {
    return (flags & (static_cast<unsigned>(flag) | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  }
  void line(const std::string& s) { text += "\\n" + s; }

  void operator()(const Operation& operation) { std::visit(*this, operation); }
  void operator()(const EmptyOp&) { text = "EMPTY"; }
  void operator()(const MemoryOp&) { text = "EMPTY"; }
  void operator()(const WordOp&) { text = "BATCH_MEM_OP"; }
  void operator()(const KernelOp& op) {
    text = "KERNEL";
    line(driver.kernels.check(op.kernel) != nullptr ? op.kernel->name : "(unloaded)");
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
      line("<<<" + shape(op.launch.grid) + ", " + shape(op.launch.block) + ", " +
           std::to_string(op.launch.dynamic_shared_bytes) + ">>>");
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES))
      line("cooperative: " + std::to_string(op.launch.cooperative));
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) line("function: " + hex(op.function));
  }
  void operator()(const LibraryOp& op) {
    text = "KERNEL";
    line(op.name);
  }
  void operator()(const CopyOp& op) {
    text = "MEMCPY";
    line(std::string(side(op.described->srcMemoryType)) + " to " + side(op.described->dstMemoryType));
    if (!wants(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) return;
    line(hex(op.source) + " to " + hex(op.destination));
    line(std::to_string(op.width) + " x " + std::to_string(op.height) + " x " + std::to_string(op.depth) + " bytes");
  }
  void operator()(const SetOp& op) {
    text = "MEMSET";
    if (!wants(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) return;
    line(hex(op.destination) + " = " + std::to_string(op.value));
    line(std::to_string(op.width) + " x " + std::to_string(op.height) + " of " + std::to_string(op.element_bytes) +
         " bytes");
  }
  void operator()(const HostOp& op) {
    text = "HOST";
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
      line("function: " + hex(reinterpret_cast<std::uintptr_t>(op.function)) + ", data: " + hex(op.data));
  }
  void operator()(const ChildWork&) { text = "GRAPH"; }
  void operator()(const EventWork& work) {
    text = work.waits ? "WAIT_EVENT" : "EVENT_RECORD";
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)) line("event: " + hex(work.event));
  }
  void operator()(const BatchWork& work) {
    text = "BATCH_MEM_OP";
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS))
      line(std::to_string(work.operations.size()) + " operations");
  }
  void operator()(const AllocWork& work) {
    text = "MEM_ALLOC";
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS))
      line(std::to_string(work.allocation->block->requested) + " bytes at " + hex(work.allocation->block->address));
  }
  void operator()(const FreeWork& work) {
    text = "MEM_FREE";
    if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) line(hex(work.allocation->block->address));
  }
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string name_of(CUgraphNode node) {
  return "node_" + std::to_string(node->id);
}

void print(Driver& driver, CUgraph graph, unsigned flags, std::string& out) {
  out += "subgraph cluster_" + std::to_string(graph->id) + " {\nlabel=\"graph_" + std::to_string(graph->id) + "\";\n";
  std::size_t number = 0;
  for (CUgraphNode const node : graph->nodes) {
    Label label{driver, flags, {}};
    std::visit(label, node->body.work);
    label.text = std::to_string(number++) + " " + label.text;
    if (label.wants(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) label.line("node: " + hex(node));
    out += quoted(name_of(node)) + " [shape=box, label=" + quoted(label.text) + "];\n";
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) {
      print(driver, child->graph, flags, out);
      for (CUgraphNode const root : child->graph->nodes)
        if (root->dependencies.empty())
          out += quoted(name_of(node)) + " -> " + quoted(name_of(root)) + " [style=dotted];\n";
    }
  }
  bool const numbered = (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  for (CUgraphNode const node : graph->nodes) {
    std::size_t edge = 0;
    for (Edge const& e : node->dependents) {
      out += quoted(name_of(node)) + " -> " + quoted(name_of(e.node));
      out += numbered ? " [headlabel=" + std::to_string(edge++) + "];\n" : ";\n";
    }
  }
  out += "}\n";
}

}  // namespace

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned flags) {
  return with_graph(graph, [&](Call& call) -> CUresult {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::string text = "digraph dot {\n";
    print(call.driver, graph, flags, text);
    text += "}\n";
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    bool const written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}
