// SPDX-License-Identifier: Apache-2.0
// Stream capture: work that goes into a graph instead of a queue, and what a capture forbids meanwhile.
//
// A sequence begins in one stream; streams that wait for an event of the sequence join it and stay until it ends. Each
// keeps the set of nodes that its next node depends on: its tail. What breaks a rule invalidates the sequence: every
// further use of its streams answers so until the program ends it. All of it belongs to the engine's lock.
#pragma once
#include <map>

#include "softgpu/driver/graph.h"

namespace tidemark::softgpu {

struct CaptureTail {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;  // as many
};

struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint64_t thread = 0;  // that began it
  CUgraph graph = nullptr;
  bool owns_graph = true;  // false: began with cuStreamBeginCaptureToGraph
  CUstream origin = nullptr;
  bool invalidated = false;
  bool ended = false;  // events may still remember it
  std::map<CUstream, CaptureTail> tails;
  std::vector<CUgraphNode> orphans;  // tails of joined streams that were destroyed
};

// Also the legacy stream while a stream captures that it would have to wait for.
bool is_capturing(CUstream stream);
// Why nothing can be added to the capturing stream; CUDA_SUCCESS: it can.
CUresult capture_refused(Call& call, CUstream stream);
CUresult capture_node(Call& call, CUstream stream, NodeBody body);
// Adds to the stream's capture.
CUresult capture_operation(Call& call, CUstream stream, Operation operation);
CUresult capture_wait(Call& call, CUstream stream, CUevent event, unsigned flags);
CUresult capture_record(Call& call, CUstream stream, CUevent event, unsigned flags);
// The call cannot be captured: the stream's capture (or, with nullptr, those that forbid it) is invalidated.
CUresult capture_violated(Call& call, CUstream stream);
// Whether a capture that is under way forbids this thread a call that cannot be captured (allocation, wait, query).
bool is_capture_forbidden(Call& call);
// A wait for the whole context while one of its streams captures.
CUresult capture_violated_context(Call& call, CUcontext context);
// The stream is being destroyed in the middle of a capture.
void abandon_capture(Call& call, CUstream stream);

// Of the calling thread.
CUstreamCaptureMode& capture_mode();
CUresult begin_capture(Call& call, CUstream stream, CUstreamCaptureMode mode, const NewNode* into);
CUresult end_capture(Call& call, CUstream stream, CUgraph* out);

}  // namespace tidemark::softgpu
