// SPDX-License-Identifier: Apache-2.0
// Memory sets of every width and shape.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/copy.h"

using namespace tidemark;
using namespace tidemark::softgpu;

CheckedSet tidemark::softgpu::check_set(Driver& driver, const SetOp& op, bool in_graph) {
  std::uint64_t row = 0;
  if (__builtin_mul_overflow(op.width, op.element_bytes, &row)) return {.result = CUDA_ERROR_INVALID_VALUE};
  if (op.destination % op.element_bytes != 0 || (op.height > 1 && (op.pitch < row || op.pitch % op.element_bytes != 0)))
    return {.result = CUDA_ERROR_INVALID_VALUE};
  if (row == 0 || op.height == 0) return {.nothing = true};
  auto const span = strided_span({.width = row, .pitch = op.pitch, .rows = op.height});
  if (!span) return {.result = CUDA_ERROR_INVALID_VALUE};
  Place const place = place_of(driver, op.destination, *span, {.writes = true, .in_graph = in_graph});
  bool const wrong = place == Place::Invalid || place == Place::Pageable;
  return {.result = wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS, .place = place};
}

namespace {

CUresult set(const SetOp& op, CUstream handle, Waiting waiting) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    CheckedSet const checked = check_set(call.driver, op, is_capturing(stream));
    if (checked.result != CUDA_SUCCESS || checked.nothing) return checked.result;
    if (waiting == Waiting::Async || is_capturing(stream))
      return waiting == Waiting::Sync ? capture_violated(call, stream) : issue(call, stream, op);
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    // Device memory: even the plain form does not wait. Host-visible memory: it does.
    return checked.place == Place::Device && !always_synchronises(call, op.destination)
               ? issue(call, stream, op)
               : issue_and_wait(call, stream, op);
  });
}

SetOp row(CUdeviceptr to, std::uint32_t value, std::uint32_t element_bytes, std::size_t count) {
  return {.destination = to,
          .pitch = count * element_bytes,
          .value = value,
          .element_bytes = element_bytes,
          .width = count};
}

}  // namespace

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr p, unsigned char v, size_t n) {
  return set(row(p, v, 1, n), nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr p, unsigned short v, size_t n) {
  return set(row(p, v, 2, n), nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr p, unsigned v, size_t n) {
  return set(row(p, v, 4, n), nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) {
  return set(row(p, v, 1, n), s, Waiting::Async);
}
CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) {
  return set(row(p, v, 2, n), s, Waiting::Async);
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream s) {
  return set(row(p, v, 4, n), s, Waiting::Async);
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h) {
  return set({p, pitch, v, 1, w, h}, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h) {
  return set({p, pitch, v, 2, w, h}, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t h) {
  return set({p, pitch, v, 4, w, h}, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t h, CUstream s) {
  return set({p, pitch, v, 1, w, h}, s, Waiting::Async);
}
CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t h, CUstream s) {
  return set({p, pitch, v, 2, w, h}, s, Waiting::Async);
}
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t h, CUstream s) {
  return set({p, pitch, v, 4, w, h}, s, Waiting::Async);
}
