// SPDX-License-Identifier: Apache-2.0
// Copies of boxes. The runtime counts in elements where an array takes part, the driver in bytes.
#include "softgpu/runtime/copy.h"

namespace tidemark::softgpu::runtime {
namespace {

// What is common to cudaMemcpy3DParms and cudaMemcpy3DPeerParms.
struct Box {
  cudaArray_t source_array;
  cudaPos source_position;
  cudaPitchedPtr source;
  cudaArray_t target_array;
  cudaPos target_position;
  cudaPitchedPtr target;
  cudaExtent extent;
};

struct Units {
  std::size_t source = 1;  // bytes per element at each end
  std::size_t target = 1;
  std::size_t extent = 1;  // and in the extent's width
};

cudaError_t units_of(const Box& box, Units& units) {
  ArrayShape shape;
  if (box.source_array != nullptr) {
    if (cudaError_t const error = shape_of(box.source_array, shape); error != cudaSuccess) return error;
    units.source = units.extent = shape.element_bytes;
  }
  if (box.target_array != nullptr) {
    if (cudaError_t const error = shape_of(box.target_array, shape); error != cudaSuccess) return error;
    units.target = units.extent = shape.element_bytes;
  }
  // Two arrays must have elements of one size: the extent counts in both.
  bool const differ = box.source_array != nullptr && box.target_array != nullptr && units.source != units.target;
  return differ ? cudaErrorInvalidValue : cudaSuccess;
}

bool exactly_one(const cudaArray_t array, const cudaPitchedPtr& memory) {
  return (array != nullptr) != (memory.ptr != nullptr);
}

// Fills what CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have in common; memory types are the caller's.
template <class Copy>
cudaError_t fill(const Box& box, Copy& copy, bool& nothing) {
  nothing = box.extent.width == 0 || box.extent.height == 0 || box.extent.depth == 0;
  if (nothing) return cudaSuccess;
  if (!exactly_one(box.source_array, box.source) || !exactly_one(box.target_array, box.target))
    return cudaErrorInvalidValue;
  Units units;
  if (cudaError_t const error = units_of(box, units); error != cudaSuccess) return error;
  copy.WidthInBytes = box.extent.width * units.extent;
  copy.Height = box.extent.height;
  copy.Depth = box.extent.depth;
  bool const many_rows = copy.Height > 1 || copy.Depth > 1;
  bool const short_source = box.source_array == nullptr && box.source.pitch < copy.WidthInBytes;
  bool const short_target = box.target_array == nullptr && box.target.pitch < copy.WidthInBytes;
  if (many_rows && (short_source || short_target)) return cudaErrorInvalidPitchValue;
  copy.srcXInBytes = box.source_position.x * units.source;
  copy.srcY = box.source_position.y;
  copy.srcZ = box.source_position.z;
  copy.srcHost = box.source.ptr;
  copy.srcDevice = convert<CUdeviceptr>(box.source.ptr);
  copy.srcArray = convert<CUarray>(box.source_array);
  copy.srcPitch = box.source.pitch;
  copy.srcHeight = box.source.ysize;
  copy.dstXInBytes = box.target_position.x * units.target;
  copy.dstY = box.target_position.y;
  copy.dstZ = box.target_position.z;
  copy.dstHost = box.target.ptr;
  copy.dstDevice = convert<CUdeviceptr>(box.target.ptr);
  copy.dstArray = convert<CUarray>(box.target_array);
  copy.dstPitch = box.target.pitch;
  copy.dstHeight = box.target.ysize;
  return cudaSuccess;
}

cudaError_t to_driver(const cudaMemcpy3DPeerParms& p, CUDA_MEMCPY3D_PEER& copy, bool& nothing) {
  copy = {};
  Box const box{p.srcArray, p.srcPos, p.srcPtr, p.dstArray, p.dstPos, p.dstPtr, p.extent};
  if (cudaError_t const error = fill(box, copy, nothing); error != cudaSuccess) return error;
  copy.srcMemoryType = p.srcArray != nullptr ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = p.dstArray != nullptr ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  if (cudaError_t const error = primary_context(p.srcDevice, copy.srcContext); error != cudaSuccess) return error;
  return primary_context(p.dstDevice, copy.dstContext);
}

}  // namespace

cudaError_t to_driver(const cudaMemcpy3DParms& p, CUDA_MEMCPY3D& copy, bool& nothing) {
  copy = {};
  cudaError_t const kind = check_kind(p.kind, {p.srcArray != nullptr, p.dstArray != nullptr});
  if (kind != cudaSuccess) return kind;
  Box const box{p.srcArray, p.srcPos, p.srcPtr, p.dstArray, p.dstPos, p.dstPtr, p.extent};
  if (cudaError_t const error = fill(box, copy, nothing); error != cudaSuccess) return error;
  copy.srcMemoryType = p.srcArray != nullptr ? CU_MEMORYTYPE_ARRAY : source_type(p.kind);
  copy.dstMemoryType = p.dstArray != nullptr ? CU_MEMORYTYPE_ARRAY : target_type(p.kind);
  return cudaSuccess;
}

CUDA_MEMCPY3D linear_copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = source_type(kind);
  copy.srcHost = source;
  copy.srcDevice = convert<CUdeviceptr>(source);
  copy.dstMemoryType = target_type(kind);
  copy.dstHost = target;
  copy.dstDevice = convert<CUdeviceptr>(target);
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = bytes;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  return copy;
}

cudaError_t to_runtime_copy(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms& out) {
  out = {};
  out.srcArray = reinterpret_cast<cudaArray_t>(copy.srcMemoryType == CU_MEMORYTYPE_ARRAY ? copy.srcArray : nullptr);
  out.dstArray = reinterpret_cast<cudaArray_t>(copy.dstMemoryType == CU_MEMORYTYPE_ARRAY ? copy.dstArray : nullptr);
  Units units;
  Box const box{out.srcArray, {}, {}, out.dstArray, {}, {}, {}};
  if (cudaError_t const error = units_of(box, units); error != cudaSuccess) return error;
  auto const host = [](CUmemorytype type) { return type == CU_MEMORYTYPE_HOST; };
  auto const unified = [](CUmemorytype type) { return type == CU_MEMORYTYPE_UNIFIED; };
  if (out.srcArray == nullptr) {
    void* const pointer =
        host(copy.srcMemoryType) ? const_cast<void*>(copy.srcHost) : reinterpret_cast<void*>(copy.srcDevice);
    out.srcPtr = {pointer, copy.srcPitch, copy.srcPitch, copy.srcHeight};
  }
  if (out.dstArray == nullptr) {
    void* const pointer = host(copy.dstMemoryType) ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
    out.dstPtr = {pointer, copy.dstPitch, copy.dstPitch, copy.dstHeight};
  }
  out.srcPos = {copy.srcXInBytes / units.source, copy.srcY, copy.srcZ};
  out.dstPos = {copy.dstXInBytes / units.target, copy.dstY, copy.dstZ};
  out.extent = {copy.WidthInBytes / units.extent, copy.Height, copy.Depth};
  if (unified(copy.srcMemoryType) || unified(copy.dstMemoryType)) {
    out.kind = cudaMemcpyDefault;
  } else {
    out.kind = host(copy.srcMemoryType)
                   ? (host(copy.dstMemoryType) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                   : (host(copy.dstMemoryType) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  }
  return cudaSuccess;
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D copy;
  bool nothing = false;
  if (cudaError_t const error = to_driver(*parameters, copy, nothing); error != cudaSuccess) return record(error);
  return nothing ? record(enter()) : forward(&Driver::cuMemcpy3D, &copy);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D copy;
  bool nothing = false;
  if (cudaError_t const error = to_driver(*parameters, copy, nothing); error != cudaSuccess) return record(error);
  return nothing ? record(enter()) : forward(&Driver::cuMemcpy3DAsync, &copy, stream);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D_PEER copy;
  bool nothing = false;
  if (cudaError_t const error = to_driver(*parameters, copy, nothing); error != cudaSuccess) return record(error);
  return nothing ? record(enter()) : forward(&Driver::cuMemcpy3DPeer, &copy);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D_PEER copy;
  bool nothing = false;
  if (cudaError_t const error = to_driver(*parameters, copy, nothing); error != cudaSuccess) return record(error);
  return nothing ? record(enter()) : forward(&Driver::cuMemcpy3DPeerAsync, &copy, stream);
}
