// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: the runtime describes an element by its channels' bits, the driver by a format and a channel count.
#pragma once
#include "softgpu/runtime/context.h"

namespace tidemark::softgpu::runtime {

// The driver's description of an array; cudaErrorInvalidChannelDescriptor for an element that no array can have.
cudaError_t describe_array(const cudaChannelFormatDesc& channels, const cudaExtent& extent, unsigned flags,
                           CUDA_ARRAY3D_DESCRIPTOR& out);
// The channels of an array that the driver describes so.
cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR& description);
std::size_t element_bytes(const cudaChannelFormatDesc& channels);

// An array's description and the bytes of one of its elements.
struct ArrayShape {
  CUDA_ARRAY3D_DESCRIPTOR description{};
  std::size_t element_bytes = 0;
};
cudaError_t shape_of(cudaArray_const_t array, ArrayShape& out);

}  // namespace tidemark::softgpu::runtime
