// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/capture.h"

#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/memory.h"

namespace tidemark::softgpu {

bool is_capturing(CUstream stream) {
  return stream->capture != nullptr;
}
CUresult capture_operation(Call&, CUstream, Operation) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult capture_wait(Call&, CUstream, CUevent, unsigned) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult capture_record(Call&, CUstream, CUevent, unsigned) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult capture_violated(Call&, CUstream) {
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
bool is_capture_forbidden(Call&) {
  return false;
}
void abandon_capture(Call&, CUstream) {}
CUresult capture_allocation(Call&, CUstream, std::uint64_t, int, CUdeviceptr*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult free_graph_block(Call&, Block*, CUstream) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult free_graph_block_now(Call&, Block*) {
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tidemark::softgpu
