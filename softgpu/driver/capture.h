// SPDX-License-Identifier: Apache-2.0
// Stream capture: work that goes into a graph instead of a queue, and what a capture forbids meanwhile.
#pragma once
#include <map>

#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

// One capture sequence: the streams that take part and where each of them stands in the graph.
struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint64_t thread = 0;  // that began it
  CUgraph graph = nullptr;
  bool owns_graph = true;  // false: began with cuStreamBeginCaptureToGraph
  CUstream origin = nullptr;
  bool invalidated = false;
  std::map<CUstream, std::vector<CUgraphNode>> tails;  // what the stream's next node depends on
};

bool is_capturing(CUstream stream);
// Adds to the stream's capture.
CUresult capture_operation(Call& call, CUstream stream, Operation operation);
CUresult capture_wait(Call& call, CUstream stream, CUevent event, unsigned flags);
CUresult capture_record(Call& call, CUstream stream, CUevent event, unsigned flags);
// The call cannot be captured: the stream's capture (or, with nullptr, the thread's) is invalidated.
CUresult capture_violated(Call& call, CUstream stream);
// Whether a capture that is under way forbids this thread a call that cannot be captured (allocation, wait, query).
bool is_capture_forbidden(Call& call);
// The stream is being destroyed in the middle of a capture.
void abandon_capture(Call& call, CUstream stream);

}  // namespace tidemark::softgpu
