// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a capture, seen before and after: what the allocator asks of the driver must not get
// into it.
#include "interpose/hooks/hook.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/mode.h"

using namespace tidemark::interpose;

namespace {

template <class Real>
CUresult begin(CUstream stream, bool per_thread, Real real) {
  if (!serve::serving() && !serve::has_caches()) return real();
  serve::CaptureBegin begun;
  bool const seen = shield([&] { begun = serve::before_capture(stream, per_thread); });
  CUresult const result = real();
  if (seen) shield([&] { serve::after_capture_begun(begun, result == CUDA_SUCCESS); });
  return result;
}

template <class Real>
CUresult end(CUstream stream, bool per_thread, Real real) {
  CUresult const result = real();
  if (serve::serving() || serve::has_caches()) shield([&] { serve::after_capture_ended(stream, per_thread); });
  return result;
}

}  // namespace

TIDEMARK_HOOK(cuStreamBeginCapture)(CUstream stream) {
  return begin(stream, false, [&] { return call(&Driver::cuStreamBeginCapture, stream); });
}
TIDEMARK_HOOK(cuStreamBeginCapture_ptsz)(CUstream stream) {
  return begin(stream, true, [&] { return call(&Driver::cuStreamBeginCapture_ptsz, stream); });
}
TIDEMARK_HOOK(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, false, [&] { return call(&Driver::cuStreamBeginCapture_v2, stream, mode); });
}
TIDEMARK_HOOK(cuStreamBeginCapture_v2_ptsz)(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, true, [&] { return call(&Driver::cuStreamBeginCapture_v2_ptsz, stream, mode); });
}
TIDEMARK_HOOK(cuStreamBeginCaptureToGraph)
(CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
 CUstreamCaptureMode mode) {
  return begin(stream, false,
               [&] { return call(&Driver::cuStreamBeginCaptureToGraph, stream, graph, after, edges, count, mode); });
}
TIDEMARK_HOOK(cuStreamBeginCaptureToGraph_ptsz)
(CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
 CUstreamCaptureMode mode) {
  return begin(stream, true, [&] {
    return call(&Driver::cuStreamBeginCaptureToGraph_ptsz, stream, graph, after, edges, count, mode);
  });
}
TIDEMARK_HOOK(cuStreamEndCapture)(CUstream stream, CUgraph* graph) {
  return end(stream, false, [&] { return call(&Driver::cuStreamEndCapture, stream, graph); });
}
TIDEMARK_HOOK(cuStreamEndCapture_ptsz)(CUstream stream, CUgraph* graph) {
  return end(stream, true, [&] { return call(&Driver::cuStreamEndCapture_ptsz, stream, graph); });
}
