// SPDX-License-Identifier: Apache-2.0
// Stream capture as programs call it.
#include <algorithm>

#include "softgpu/driver/capture.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

struct CaptureInfo {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  size_t* count = nullptr;
  bool may_lose_edges = false;  // the forms from before there was edge data
};

CUresult get_info(CUstream handle, const CaptureInfo& out) {
  return with_stream(handle, [&](Call&, CUstream stream) -> CUresult {
    if (out.status == nullptr || (out.edges != nullptr && out.dependencies == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    // A question alone invalidates nothing.
    if (stream->capture == nullptr && is_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *out.status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
                  : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (*out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    Capture const& capture = *stream->capture;
    CaptureTail const& tail = capture.tails.at(stream);
    bool const plain = std::all_of(tail.edges.begin(), tail.edges.end(), is_plain);
    if (out.dependencies != nullptr && out.edges == nullptr && !plain && !out.may_lose_edges)
      return CUDA_ERROR_LOSSY_QUERY;
    if (out.id != nullptr) *out.id = capture.id;
    if (out.graph != nullptr) *out.graph = capture.graph;
    if (out.dependencies != nullptr) *out.dependencies = tail.nodes.data();
    if (out.edges != nullptr) *out.edges = tail.edges.data();
    if (out.count != nullptr) *out.count = tail.nodes.size();
    return CUDA_SUCCESS;
  });
}

CUresult update_dependencies(CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count,
                             unsigned flags) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (nodes == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
    NewNode const place{.graph = stream->capture->graph, .dependencies = {nodes, count}, .edges = edges};
    if (CUresult const wrong = check_place(call.driver, place); wrong != CUDA_SUCCESS) return wrong;
    CaptureTail& tail = stream->capture->tails[stream];
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) tail = {};
    for (std::size_t i = 0; i < count; ++i) {
      if (std::find(tail.nodes.begin(), tail.nodes.end(), nodes[i]) != tail.nodes.end()) continue;
      tail.nodes.push_back(nodes[i]);
      tail.edges.push_back(edges != nullptr ? edges[i] : CUgraphEdgeData{});
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Call&) -> CUresult {
    std::swap(*mode, capture_mode());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle) {
  return cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return with_stream(handle, [&](Call& call, CUstream stream) { return begin_capture(call, stream, mode, nullptr); });
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode* dependencies,
                                             const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (call.driver.graph.graphs.check(graph) == nullptr || graph->capturing) return CUDA_ERROR_INVALID_VALUE;
    if (dependencies == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
    NewNode const place{.graph = graph, .dependencies = {dependencies, count}, .edges = edges};
    if (CUresult const wrong = check_place(call.driver, place); wrong != CUDA_SUCCESS) return wrong;
    return begin_capture(call, stream, mode, &place);
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return with_stream(handle, [&](Call& call, CUstream stream) { return end_capture(call, stream, graph); });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return get_info(handle, {.status = status});
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return get_info(handle, {.status = status, .id = id});
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                           CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return get_info(handle, {.status = status,
                           .id = id,
                           .graph = graph,
                           .dependencies = dependencies,
                           .count = count,
                           .may_lose_edges = true});
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                           CUgraph* graph, const CUgraphNode** dependencies,
                                           const CUgraphEdgeData** edges, size_t* count) {
  return get_info(
      handle,
      {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .edges = edges, .count = count});
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned flags) {
  return update_dependencies(handle, nodes, nullptr, count, flags);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData* edges,
                                                      size_t count, unsigned flags) {
  return update_dependencies(handle, nodes, edges, count, flags);
}
