// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/array.h"

namespace tidemark::softgpu::runtime {
namespace {

// One row per element type: what the runtime calls it, what the driver calls it.
struct Format {
  cudaChannelFormatKind kind;
  int bits[4];  // for the plain kinds only the first counts: the channels used have that many bits
  CUarray_format format;
  unsigned channels;  // 0: as many as the descriptor has
};

constexpr Format kFormats[] = {
    {cudaChannelFormatKindUnsigned, {8}, CU_AD_FORMAT_UNSIGNED_INT8, 0},
    {cudaChannelFormatKindUnsigned, {16}, CU_AD_FORMAT_UNSIGNED_INT16, 0},
    {cudaChannelFormatKindUnsigned, {32}, CU_AD_FORMAT_UNSIGNED_INT32, 0},
    {cudaChannelFormatKindSigned, {8}, CU_AD_FORMAT_SIGNED_INT8, 0},
    {cudaChannelFormatKindSigned, {16}, CU_AD_FORMAT_SIGNED_INT16, 0},
    {cudaChannelFormatKindSigned, {32}, CU_AD_FORMAT_SIGNED_INT32, 0},
    {cudaChannelFormatKindFloat, {16}, CU_AD_FORMAT_HALF, 0},
    {cudaChannelFormatKindFloat, {32}, CU_AD_FORMAT_FLOAT, 0},
    {cudaChannelFormatKindNV12, {8, 8, 8, 0}, CU_AD_FORMAT_NV12, 3},
    {cudaChannelFormatKindUnsignedNormalized8X1, {8, 0, 0, 0}, CU_AD_FORMAT_UNORM_INT8X1, 1},
    {cudaChannelFormatKindUnsignedNormalized8X2, {8, 8, 0, 0}, CU_AD_FORMAT_UNORM_INT8X2, 2},
    {cudaChannelFormatKindUnsignedNormalized8X4, {8, 8, 8, 8}, CU_AD_FORMAT_UNORM_INT8X4, 4},
    {cudaChannelFormatKindUnsignedNormalized16X1, {16, 0, 0, 0}, CU_AD_FORMAT_UNORM_INT16X1, 1},
    {cudaChannelFormatKindUnsignedNormalized16X2, {16, 16, 0, 0}, CU_AD_FORMAT_UNORM_INT16X2, 2},
    {cudaChannelFormatKindUnsignedNormalized16X4, {16, 16, 16, 16}, CU_AD_FORMAT_UNORM_INT16X4, 4},
    {cudaChannelFormatKindSignedNormalized8X1, {8, 0, 0, 0}, CU_AD_FORMAT_SNORM_INT8X1, 1},
    {cudaChannelFormatKindSignedNormalized8X2, {8, 8, 0, 0}, CU_AD_FORMAT_SNORM_INT8X2, 2},
    {cudaChannelFormatKindSignedNormalized8X4, {8, 8, 8, 8}, CU_AD_FORMAT_SNORM_INT8X4, 4},
    {cudaChannelFormatKindSignedNormalized16X1, {16, 0, 0, 0}, CU_AD_FORMAT_SNORM_INT16X1, 1},
    {cudaChannelFormatKindSignedNormalized16X2, {16, 16, 0, 0}, CU_AD_FORMAT_SNORM_INT16X2, 2},
    {cudaChannelFormatKindSignedNormalized16X4, {16, 16, 16, 16}, CU_AD_FORMAT_SNORM_INT16X4, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed1, {8, 8, 8, 8}, CU_AD_FORMAT_BC1_UNORM, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed1SRGB, {8, 8, 8, 8}, CU_AD_FORMAT_BC1_UNORM_SRGB, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed2, {8, 8, 8, 8}, CU_AD_FORMAT_BC2_UNORM, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed2SRGB, {8, 8, 8, 8}, CU_AD_FORMAT_BC2_UNORM_SRGB, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed3, {8, 8, 8, 8}, CU_AD_FORMAT_BC3_UNORM, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed3SRGB, {8, 8, 8, 8}, CU_AD_FORMAT_BC3_UNORM_SRGB, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed4, {8, 0, 0, 0}, CU_AD_FORMAT_BC4_UNORM, 1},
    {cudaChannelFormatKindSignedBlockCompressed4, {8, 0, 0, 0}, CU_AD_FORMAT_BC4_SNORM, 1},
    {cudaChannelFormatKindUnsignedBlockCompressed5, {8, 8, 0, 0}, CU_AD_FORMAT_BC5_UNORM, 2},
    {cudaChannelFormatKindSignedBlockCompressed5, {8, 8, 0, 0}, CU_AD_FORMAT_BC5_SNORM, 2},
    {cudaChannelFormatKindUnsignedBlockCompressed6H, {16, 16, 16, 0}, CU_AD_FORMAT_BC6H_UF16, 3},
    {cudaChannelFormatKindSignedBlockCompressed6H, {16, 16, 16, 0}, CU_AD_FORMAT_BC6H_SF16, 3},
    {cudaChannelFormatKindUnsignedBlockCompressed7, {8, 8, 8, 8}, CU_AD_FORMAT_BC7_UNORM, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed7SRGB, {8, 8, 8, 8}, CU_AD_FORMAT_BC7_UNORM_SRGB, 4},
    {cudaChannelFormatKindUnsignedNormalized1010102, {10, 10, 10, 2}, CU_AD_FORMAT_UNORM_INT_101010_2, 4},
};

// How many leading channels have the first one's bits, the rest none; 0 for any other mixture. Three are not possible.
unsigned plain_channels(const cudaChannelFormatDesc& c) {
  int const bits[] = {c.x, c.y, c.z, c.w};
  unsigned used = 0;
  while (used < 4 && bits[used] == c.x && c.x > 0) ++used;
  for (unsigned i = used; i < 4; ++i)
    if (bits[i] != 0) return 0;
  return used == 3 ? 0 : used;
}

}  // namespace

std::size_t element_bytes(const cudaChannelFormatDesc& c) {
  return static_cast<std::size_t>(c.x + c.y + c.z + c.w) / 8;
}

cudaError_t describe_array(const cudaChannelFormatDesc& channels, const cudaExtent& extent, unsigned flags,
                           CUDA_ARRAY3D_DESCRIPTOR& out) {
  for (Format const& f : kFormats) {
    if (f.kind != channels.f || (f.channels == 0 && f.bits[0] != channels.x)) continue;
    unsigned const count = f.channels != 0 ? f.channels : plain_channels(channels);
    if (count == 0) break;
    out = {extent.width, extent.height, extent.depth, f.format, count, flags};
    return cudaSuccess;
  }
  return cudaErrorInvalidChannelDescriptor;
}

cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  for (Format const& f : kFormats) {
    if (f.format != d.Format) continue;
    if (f.channels != 0) return {f.bits[0], f.bits[1], f.bits[2], f.bits[3], f.kind};
    auto const bits = [&](unsigned channel) { return channel < d.NumChannels ? f.bits[0] : 0; };
    return {bits(0), bits(1), bits(2), bits(3), f.kind};
  }
  return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

cudaError_t shape_of(cudaArray_const_t array, ArrayShape& out) {
  if (array == nullptr) return cudaErrorInvalidResourceHandle;
  if (cudaError_t const error = enter(); error != cudaSuccess) return error;
  CUresult const result = call(&Driver::cuArray3DGetDescriptor, &out.description, convert<CUarray>(array));
  out.element_bytes = element_bytes(channels_of(out.description));
  return to_runtime(result);
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned int flags) {
  if (array == nullptr || channels == nullptr) return record(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR description;
  cudaError_t const error = describe_array(*channels, extent, flags, description);
  if (error != cudaSuccess) return record(error);
  return forward(&Driver::cuArray3DCreate, array, &description);
}

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width, size_t height,
                            unsigned int flags) {
  return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* channels,
                                     cudaExtent extent, unsigned int levels, unsigned int flags) {
  if (array == nullptr || channels == nullptr) return record(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR description;
  cudaError_t const error = describe_array(*channels, extent, flags, description);
  if (error != cudaSuccess) return record(error);
  return forward(&Driver::cuMipmappedArrayCreate, array, &description, levels);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return record(enter());
  return forward(&Driver::cuArrayDestroy, array);
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  if (array == nullptr) return record(enter());
  return forward(&Driver::cuMipmappedArrayDestroy, array);
}
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t array, unsigned int level) {
  return forward(&Driver::cuMipmappedArrayGetLevel, level_array, array, level);
}
cudaError_t cudaArrayGetPlane(cudaArray_t* plane_array, cudaArray_t array, unsigned int plane) {
  return forward(&Driver::cuArrayGetPlane, plane_array, array, plane);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  ArrayShape shape;
  if (cudaError_t const error = shape_of(array, shape); error != cudaSuccess) return record(error);
  if (channels != nullptr) *channels = channels_of(shape.description);
  if (extent != nullptr) *extent = {shape.description.Width, shape.description.Height, shape.description.Depth};
  if (flags != nullptr) *flags = shape.description.Flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array) {
  if (channels == nullptr) return record(cudaErrorInvalidValue);
  ArrayShape shape;
  if (cudaError_t const error = shape_of(array, shape); error != cudaSuccess) return record(error);
  *channels = channels_of(shape.description);
  return cudaSuccess;
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements, cudaArray_t array, int device) {
  return forward(&Driver::cuArrayGetMemoryRequirements, requirements, array, device);
}
cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t array, int device) {
  return forward(&Driver::cuMipmappedArrayGetMemoryRequirements, requirements, array, device);
}
cudaError_t cudaArrayGetSparseProperties(cudaArraySparseProperties* properties, cudaArray_t array) {
  return forward(&Driver::cuArrayGetSparseProperties, properties, array);
}
cudaError_t cudaMipmappedArrayGetSparseProperties(cudaArraySparseProperties* properties, cudaMipmappedArray_t array) {
  return forward(&Driver::cuMipmappedArrayGetSparseProperties, properties, array);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* channels, int device) {
  if (width == nullptr || channels == nullptr) return record(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR description;
  cudaError_t const error = describe_array(*channels, {1, 0, 0}, 0, description);
  if (error != cudaSuccess) return record(error);
  return forward(&Driver::cuDeviceGetTexture1DLinearMaxWidth, width, description.Format, description.NumChannels,
                 device);
}
