// SPDX-License-Identifier: Apache-2.0
// Streams, callbacks, host functions and stream capture.
#include <memory>
#include <new>

#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

namespace {

// The driver's callback type carries a driver's error code, so the program's callback needs one of ours in between.
struct Callback {
  cudaStreamCallback_t function;
  void* data;
};

void call_back(CUstream stream, CUresult status, void* data) {
  std::unique_ptr<Callback> const callback(static_cast<Callback*>(data));
  callback->function(stream, to_runtime(status), callback->data);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return forward(&Driver::cuStreamCreate, stream, static_cast<unsigned>(CU_STREAM_DEFAULT));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return forward(&Driver::cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return forward(&Driver::cuStreamCreateWithPriority, stream, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  // The default streams are not the program's to destroy.
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return record(cudaErrorInvalidResourceHandle);
  return forward(&Driver::cuStreamDestroy, stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return forward(&Driver::cuStreamQuery, stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return forward(&Driver::cuStreamSynchronize, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return forward(&Driver::cuStreamWaitEvent, stream, event, flags);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return forward(&Driver::cuStreamGetPriority, stream, priority);
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return forward(&Driver::cuStreamGetFlags, stream, flags);
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return forward(&Driver::cuStreamGetId, stream, id);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return forward(&Driver::cuStreamGetDevice, stream, device);
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t target, cudaStream_t source) {
  return forward(&Driver::cuStreamCopyAttributes, target, source);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return forward(&Driver::cuStreamGetAttribute, stream, attribute, value);
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return forward(&Driver::cuStreamSetAttribute, stream, attribute, value);
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned int flags) {
  return forward(&Driver::cuStreamAttachMemAsync, stream, pointer, bytes, flags);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned int flags) {
  if (function == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  std::unique_ptr<Callback> callback(new (std::nothrow) Callback{function, data});
  if (callback == nullptr) return record(cudaErrorMemoryAllocation);
  void* const raw = callback.get();
  cudaError_t const error = forward(&Driver::cuStreamAddCallback, stream, &call_back, raw, flags);
  if (error == cudaSuccess) (void)callback.release();  // call_back() owns it now
  return error;  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): see the line above
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return record(cudaErrorInvalidValue);
  return forward(&Driver::cuLaunchHostFunc, stream, function, data);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return forward(&Driver::cuStreamBeginCapture, stream, mode);
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode) {
  return forward(&Driver::cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return forward(&Driver::cuStreamEndCapture, stream, graph);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return forward(&Driver::cuStreamIsCapturing, stream, status);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return forward(&Driver::cuStreamGetCaptureInfo, stream, status, id, graph, dependencies, edges, count);
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, size_t count, unsigned int flags) {
  return forward(&Driver::cuStreamUpdateCaptureDependencies, stream, dependencies, edges, count, flags);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return forward_without_context(&Driver::cuThreadExchangeStreamCaptureMode, mode);
}
