// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/capture.h"

#include <algorithm>
#include <unordered_set>

namespace tidemark::softgpu {
namespace {

constinit thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool is_legacy(CUstream stream) {
  return stream == stream->context->legacy_handle;
}

void join(const std::shared_ptr<Capture>& capture, CUstream stream) {
  stream->capture = capture;
  capture->tails[stream];
  ++stream->context->captures;
  if (stream->blocking) ++stream->context->blocking_captures;
}

void leave_capture(CUstream stream) {
  stream->capture.reset();
  --stream->context->captures;
  if (stream->blocking) --stream->context->blocking_captures;
}

void finish(Driver& driver, const std::shared_ptr<Capture>& capture) {
  for (auto const& [stream, tail] : capture->tails) leave_capture(stream);
  capture->ended = true;
  capture->graph->capturing = false;
  std::erase(driver.captures, capture);
}

// As documented for a thread's mode: its own sequences count unless relaxed, those of others only if both are global.
bool conflicts(const Capture& capture) {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == thread_number()) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

template <class Touched>
void invalidate_if(Driver& driver, Touched touched) {
  for (auto const& capture : driver.captures)
    for (auto const& [stream, tail] : capture->tails)
      if (touched(stream)) capture->invalidated = true;
}

std::unordered_set<CUgraphNode> with_ancestors(std::vector<CUgraphNode> nodes) {
  std::unordered_set<CUgraphNode> seen;
  while (!nodes.empty()) {
    CUgraphNode const node = nodes.back();
    nodes.pop_back();
    if (!seen.insert(node).second) continue;
    for (Edge const& e : node->dependencies) nodes.push_back(e.node);
  }
  return seen;
}

// Everything that joined has come back to the stream where it began.
bool is_joined(const Capture& capture) {
  auto const reached = with_ancestors(capture.tails.at(capture.origin).nodes);
  auto const all_reached = [&](const std::vector<CUgraphNode>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](CUgraphNode n) { return reached.count(n) != 0; });
  };
  return all_reached(capture.orphans) &&
         std::all_of(capture.tails.begin(), capture.tails.end(),
                     [&](auto const& entry) { return all_reached(entry.second.nodes); });
}

void add_to_tail(CaptureTail& tail, CUgraphNode node) {
  if (std::find(tail.nodes.begin(), tail.nodes.end(), node) != tail.nodes.end()) return;
  tail.nodes.push_back(node);
  tail.edges.push_back({});
}

// An allocator's word about a block stands at the node that comes before it in the stream. It becomes a node only where
// there is none, or more than one: the program's graph should not change because a checker looks on.
CUresult capture_mark(Call& call, CUstream stream, MemoryOp mark) {
  if (!mark.overlay) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CaptureTail const& tail = stream->capture->tails[stream];
  if (tail.nodes.size() == 1) {
    tail.nodes.front()->body.marks.push_back(std::move(mark));
    return CUDA_SUCCESS;
  }
  return capture_node(call, stream, {.work = Operation{EmptyOp{}}, .marks = {std::move(mark)}});
}

CUstreamBatchMemOpParams describe_word(const WordOp& op) {
  CUstreamBatchMemOpParams p{};
  if (op.waits) {
    p.waitValue.operation = op.wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    p.waitValue.address = op.address;
    p.waitValue.value64 = op.value;
    p.waitValue.flags = op.flags;
  } else {
    p.writeValue.operation = op.wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    p.writeValue.address = op.address;
    p.writeValue.value64 = op.value;
    p.writeValue.flags = op.flags;
  }
  return p;
}

}  // namespace

CUstreamCaptureMode& capture_mode() {
  return t_mode;
}

bool is_capturing(CUstream stream) {
  return stream->capture != nullptr || (stream->context->blocking_captures != 0 && is_legacy(stream));
}

CUresult capture_refused(Call& call, CUstream stream) {
  if (stream->capture != nullptr)
    return stream->capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  invalidate_if(call.driver, [&](CUstream s) { return s->blocking && s->context == stream->context; });
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult capture_violated(Call& call, CUstream stream) {
  if (stream != nullptr && is_capturing(stream)) {
    if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  for (auto const& capture : call.driver.captures)
    if (conflicts(*capture)) capture->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_violated_context(Call& call, CUcontext context) {
  invalidate_if(call.driver, [&](CUstream s) { return s->context == context; });
  return capture_violated(call, nullptr);
}

bool is_capture_forbidden(Call& call) {
  auto const& captures = call.driver.captures;
  return std::any_of(captures.begin(), captures.end(), [](auto const& c) { return conflicts(*c); });
}

CUresult capture_node(Call& call, CUstream stream, NodeBody body) {
  if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  Capture& capture = *stream->capture;
  CaptureTail& tail = capture.tails[stream];
  CUgraphNode const node = add_node(
      call.driver, {.graph = capture.graph, .dependencies = tail.nodes, .edges = tail.edges.data()}, std::move(body));
  tail.nodes = {node};
  tail.edges = {CUgraphEdgeData{}};
  return CUDA_SUCCESS;
}

CUresult capture_operation(Call& call, CUstream stream, Operation operation) {
  if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  if (auto* const mark = std::get_if<MemoryOp>(&operation)) return capture_mark(call, stream, std::move(*mark));
  NodeBody body{.context = stream->context};
  if (auto const* const word = std::get_if<WordOp>(&operation)) {
    body.work = BatchWork{.operations = {describe_word(*word)}};
    return capture_node(call, stream, std::move(body));
  }
  if (auto* const copy = std::get_if<CopyOp>(&operation)) {
    if (copy->bytes() == 0) return CUDA_SUCCESS;
    copy->described = std::make_shared<CUDA_MEMCPY3D>(describe_copy(call.driver, *copy));
  }
  if (auto* const set = std::get_if<SetOp>(&operation)) set->in_graph = true;
  if (auto const* const kernel = std::get_if<KernelOp>(&operation)) {
    body.attributes[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority = stream->priority;
    body.attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = static_cast<int>(kernel->launch.cooperative);
  }
  body.work = std::move(operation);
  return capture_node(call, stream, std::move(body));
}

CUresult capture_record(Call& call, CUstream stream, CUevent event, unsigned flags) {
  if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0)
    return capture_node(call, stream, {.work = EventWork{.event = event}, .context = stream->context});
  event->capture = stream->capture;
  event->captured_nodes = stream->capture->tails[stream].nodes;
  return CUDA_SUCCESS;
}

CUresult capture_wait(Call& call, CUstream stream, CUevent event, unsigned flags) {
  if (is_capturing(stream))
    if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0)
    return capture_node(call, stream, {.work = EventWork{.event = event, .waits = true}, .context = stream->context});
  std::shared_ptr<Capture> const from = event->capture;
  if (from == nullptr || from->ended) {
    // A dependency from outside; an event that was never recorded is none.
    if (from == nullptr && !event->ticket) return CUDA_SUCCESS;
    if (stream->capture != nullptr) stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (from->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture == nullptr) {
    if (is_legacy(stream)) {
      from->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    join(from, stream);
  } else if (stream->capture != from) {
    stream->capture->invalidated = from->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  for (CUgraphNode const node : event->captured_nodes) add_to_tail(from->tails[stream], node);
  return CUDA_SUCCESS;
}

CUresult begin_capture(Call& call, CUstream stream, CUstreamCaptureMode mode, const NewNode* into) {
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (is_legacy(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto const capture = std::make_shared<Capture>();
  capture->id = call.driver.next_id();
  capture->mode = mode;
  capture->thread = thread_number();
  capture->origin = stream;
  capture->owns_graph = into == nullptr;
  capture->graph = into == nullptr ? make_graph(call.driver) : into->graph;
  capture->graph->capturing = true;
  join(capture, stream);
  call.driver.captures.push_back(capture);
  if (into == nullptr) return CUDA_SUCCESS;
  CaptureTail& tail = capture->tails[stream];
  tail.nodes.assign(into->dependencies.begin(), into->dependencies.end());
  tail.edges.resize(tail.nodes.size());
  if (into->edges != nullptr) tail.edges.assign(into->edges, into->edges + tail.nodes.size());
  return CUDA_SUCCESS;
}

CUresult end_capture(Call& call, CUstream stream, CUgraph* out) {
  std::shared_ptr<Capture> const capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_number())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult const result = capture->invalidated  ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                          : is_joined(*capture) ? CUDA_SUCCESS
                                                : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  finish(call.driver, capture);
  if (out != nullptr) *out = result == CUDA_SUCCESS ? capture->graph : nullptr;
  if (capture->owns_graph && (result != CUDA_SUCCESS || out == nullptr)) destroy_graph(call.driver, capture->graph);
  return result;
}

void abandon_capture(Call& call, CUstream stream) {
  std::shared_ptr<Capture> const capture = stream->capture;
  if (capture == nullptr) return;
  if (capture->origin == stream) {
    finish(call.driver, capture);
    if (capture->owns_graph) destroy_graph(call.driver, capture->graph);
    return;
  }
  auto const& nodes = capture->tails[stream].nodes;
  capture->orphans.insert(capture->orphans.end(), nodes.begin(), nodes.end());
  capture->tails.erase(stream);
  leave_capture(stream);
}

}  // namespace tidemark::softgpu
