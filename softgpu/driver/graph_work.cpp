// SPDX-License-Identifier: Apache-2.0
// A node's work out of the API's description of it, and the way back.
#include <algorithm>

#include "softgpu/driver/copy.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/launch.h"

namespace tidemark::softgpu {
namespace {

constexpr unsigned kMostBatchOperations = 256;

bool is_context(Call& call, CUcontext context) {
  return context == nullptr || call.driver.contexts.check(context) != nullptr;
}

CUresult describe_kernel(Call& call, const CUDA_KERNEL_NODE_PARAMS_v3& p, NodeBody* out) {
  CUfunction const function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  if (!is_context(call, p.ctx)) return CUDA_ERROR_INVALID_CONTEXT;
  SoftgpuLaunch shape{.grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
                      .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
                      .dynamic_shared_bytes = p.sharedMemBytes,
                      .cooperative = 0};
  if (auto const found = out->attributes.find(CU_LAUNCH_ATTRIBUTE_COOPERATIVE); found != out->attributes.end())
    shape.cooperative = found->second.cooperative != 0;
  if (shape.cooperative != 0 && p.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelOp op;
  if (CUresult const wrong = prepare_launch(call, function, shape, p.kernelParams, p.extra, &op); wrong != CUDA_SUCCESS)
    return wrong;
  CUfunction const known = call.driver.functions.check(function);
  out->context = known != nullptr ? known->module->context : p.ctx != nullptr ? p.ctx : call.context;
  out->work = Operation{std::move(op)};
  return CUDA_SUCCESS;
}

CUresult describe_copy_node(Call& call, const CUDA_MEMCPY_NODE_PARAMS& p, NodeBody* out) {
  if (p.flags != 0 || p.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_context(call, p.copyCtx)) return CUDA_ERROR_INVALID_CONTEXT;
  auto op = from_3d(call.driver, p.copyParams);
  if (!op) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult const wrong = check_copy(call.driver, *op, true); wrong != CUDA_SUCCESS) return wrong;
  op->described = std::make_shared<CUDA_MEMCPY3D>(p.copyParams);
  out->context = p.copyCtx != nullptr ? p.copyCtx : call.context;
  out->work = Operation{std::move(*op)};
  return CUDA_SUCCESS;
}

CUresult describe_set(Call& call, const CUDA_MEMSET_NODE_PARAMS_v2& p, NodeBody* out) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  if (!is_context(call, p.ctx)) return CUDA_ERROR_INVALID_CONTEXT;
  SetOp const op{.destination = p.dst,
                 .pitch = p.height > 1 ? p.pitch : p.width * p.elementSize,
                 .value = p.value,
                 .element_bytes = p.elementSize,
                 .width = p.width,
                 .height = p.height,
                 .in_graph = true};
  CheckedSet const checked = check_set(call.driver, op, true);
  if (checked.result != CUDA_SUCCESS || checked.nothing) return CUDA_ERROR_INVALID_VALUE;
  out->context = p.ctx != nullptr ? p.ctx : call.context;
  out->work = Operation{op};
  return CUDA_SUCCESS;
}

CUresult describe_host(const CUDA_HOST_NODE_PARAMS_v2& p, NodeBody* out) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out->work = Operation{
      HostOp{.call = [function = p.fn, data = p.userData] { function(data); }, .function = p.fn, .data = p.userData}};
  return CUDA_SUCCESS;
}

CUresult describe_child(Call& call, const CUDA_CHILD_GRAPH_NODE_PARAMS& p, NodeBody* out) {
  if (call.driver.graph.graphs.check(p.graph) == nullptr || p.graph->capturing) return CUDA_ERROR_INVALID_VALUE;
  switch (p.ownership) {
    case CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE:
      if (has_memory_nodes(*p.graph)) return CUDA_ERROR_INVALID_VALUE;
      out->work = ChildWork{.graph = clone_graph(call.driver, p.graph)};
      return CUDA_SUCCESS;
    case CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE:
      if (p.graph->parent != nullptr || p.graph->executables != 0) return CUDA_ERROR_INVALID_VALUE;
      out->work = ChildWork{.graph = p.graph, .moved = true};
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult describe_event(Call& call, CUevent event, bool waits, NodeBody* out) {
  if (call.driver.events.check(event) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out->work = EventWork{.event = event, .waits = waits};
  return CUDA_SUCCESS;
}

CUresult describe_batch(Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& p, NodeBody* out) {
  if (p.count > kMostBatchOperations || (p.paramArray == nullptr && p.count != 0) || p.flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!is_context(call, p.ctx)) return CUDA_ERROR_INVALID_CONTEXT;
  WordOp word;
  for (unsigned i = 0; i < p.count; ++i)
    if (CUresult const wrong = word_of(call.driver, p.paramArray[i], &word); wrong != CUDA_SUCCESS) return wrong;
  out->context = p.ctx != nullptr ? p.ctx : call.context;
  out->work = BatchWork{.operations = {p.paramArray, p.paramArray + p.count}, .flags = p.flags};
  return CUDA_SUCCESS;
}

// The two versions of these parameters have one layout.
template <class Params>
CUDA_MEM_ALLOC_NODE_PARAMS_v1 first_version(const Params& p) {
  return {.poolProps = p.poolProps,
          .accessDescs = p.accessDescs,
          .accessDescCount = p.accessDescCount,
          .bytesize = p.bytesize,
          .dptr = p.dptr};
}

CUresult describe_allocation(Call& call, const CUDA_MEM_ALLOC_NODE_PARAMS_v2& p, NodeBody* out) {
  CUresult result = CUDA_SUCCESS;
  auto allocation = make_allocation(call, first_version(p), &result);
  if (allocation != nullptr) out->work = AllocWork{std::move(allocation)};
  return result;
}

CUresult refused(const char* what) {
  return static_cast<CUresult>(softgpu_not_supported(what));
}

void kernel_params(Driver& driver, CUgraphNode node, const KernelOp& op, CUDA_KERNEL_NODE_PARAMS_v3& out) {
  SoftgpuDim const g = op.launch.grid, b = op.launch.block;
  bool const is_function = driver.functions.check(op.function) != nullptr;
  out = {.func = is_function ? op.function : nullptr,
         .gridDimX = g.x,
         .gridDimY = g.y,
         .gridDimZ = g.z,
         .blockDimX = b.x,
         .blockDimY = b.y,
         .blockDimZ = b.z,
         .sharedMemBytes = op.launch.dynamic_shared_bytes,
         .kern = is_function ? nullptr : op.kernel,
         .ctx = node->body.context};
  if (!op.packed.empty()) {
    node->packed_bytes = op.packed.size();
    node->extra = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(op.packed.data()),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &node->packed_bytes, CU_LAUNCH_PARAM_END};
    out.extra = node->extra.data();
    return;
  }
  // In dry run the sizes of arguments may be unknown: then there is nothing to show.
  node->argument_pointers.clear();
  for (std::uint32_t const offset : op.offsets)
    node->argument_pointers.push_back(const_cast<std::byte*>(op.bytes.data()) + offset);
  if (!node->argument_pointers.empty()) out.kernelParams = node->argument_pointers.data();
}

struct Describer {
  Driver& driver;
  CUgraphNode node;
  CUgraphNodeParams& out;

  CUresult operator()(const Operation& operation) { return std::visit(*this, operation); }
  CUresult operator()(const KernelOp& op) {
    kernel_params(driver, node, op, out.kernel);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const LibraryOp&) { return refused("reading the parameters of a library's captured work"); }
  CUresult operator()(const CopyOp& op) {
    out.memcpy.copyCtx = node->body.context;
    out.memcpy.copyParams = *op.described;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const SetOp& op) {
    out.memset = {.dst = op.destination,
                  .pitch = op.pitch,
                  .value = op.value,
                  .elementSize = op.element_bytes,
                  .width = op.width,
                  .height = op.height,
                  .ctx = node->body.context};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const HostOp& op) {
    out.host = {.fn = op.function, .userData = op.data};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const ChildWork& work) {
    out.graph.graph = work.graph;
    if (work.moved) out.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventWork& work) {
    (work.waits ? out.eventWait.event : out.eventRecord.event) = work.event;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const BatchWork& work) {
    out.memOp = {.ctx = node->body.context,
                 .count = static_cast<unsigned>(work.operations.size()),
                 .paramArray = const_cast<CUstreamBatchMemOpParams*>(work.operations.data()),
                 .flags = work.flags};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const AllocWork& work) {
    GraphAllocation const& a = *work.allocation;
    out.alloc = {.poolProps = a.properties,
                 .accessDescs = a.access.empty() ? nullptr : a.access.data(),
                 .accessDescCount = a.access.size(),
                 .bytesize = a.block->requested,
                 .dptr = a.block->address};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const FreeWork& work) {
    out.free.dptr = work.allocation->block->address;
    return CUDA_SUCCESS;
  }
  template <class Other>
  CUresult operator()(const Other&) {
    return CUDA_SUCCESS;
  }
};

void describe_end(Driver& driver, std::uintptr_t address, bool is_source, CUDA_MEMCPY3D& p) {
  Block const* const block = driver.blocks.find(address);
  bool const host = block == nullptr || block->is_host();
  (is_source ? p.srcMemoryType : p.dstMemoryType) = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (host) {
    if (is_source) p.srcHost = reinterpret_cast<const void*>(address);
    if (!is_source) p.dstHost = reinterpret_cast<void*>(address);
  } else {
    (is_source ? p.srcDevice : p.dstDevice) = address;
  }
}

}  // namespace

CUDA_MEMCPY3D describe_copy(Driver& driver, const CopyOp& op) {
  CUDA_MEMCPY3D p{};
  describe_end(driver, op.source, true, p);
  describe_end(driver, op.destination, false, p);
  p.srcPitch = op.source_pitch;
  p.srcHeight = op.source_pitch != 0 ? op.source_slice / op.source_pitch : 0;
  p.dstPitch = op.destination_pitch;
  p.dstHeight = op.destination_pitch != 0 ? op.destination_slice / op.destination_pitch : 0;
  p.WidthInBytes = op.width;
  p.Height = op.height;
  p.Depth = op.depth;
  return p;
}

CUresult describe_work(Call& call, const CUgraphNodeParams& p, NodeBody* out) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return describe_kernel(call, p.kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return describe_copy_node(call, p.memcpy, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: return describe_set(call, p.memset, out);
    case CU_GRAPH_NODE_TYPE_HOST: return describe_host(p.host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH: return describe_child(call, p.graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY: out->work = Operation{EmptyOp{}}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return describe_event(call, p.eventWait.event, true, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return describe_event(call, p.eventRecord.event, false, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return describe_allocation(call, p.alloc, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return describe_batch(call, p.memOp, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return refused("a graph's conditional node");
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return refused("a graph's external semaphore node");
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult params_of(Driver& driver, CUgraphNode node, CUgraphNodeParams* out) {
  std::memset(out, 0, sizeof *out);
  out->type = type_of(node->body.work);
  return std::visit(Describer{driver, node, *out}, node->body.work);
}

CUresult set_kernel_attribute(NodeBody& body, int attribute, const CUlaunchAttributeValue& value) {
  auto* const operation = std::get_if<Operation>(&body.work);
  auto* const kernel = operation != nullptr ? std::get_if<KernelOp>(operation) : nullptr;
  if (kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchAttribute entry{};
  entry.id = static_cast<CUlaunchAttributeID>(attribute);
  entry.value = value;
  CUresult const result = apply_attribute(*kernel->kernel, entry, kernel->launch);
  if (result == CUDA_SUCCESS) body.attributes[attribute] = value;
  return result;
}

}  // namespace tidemark::softgpu
