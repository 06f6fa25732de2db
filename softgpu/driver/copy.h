// SPDX-License-Identifier: Apache-2.0
// Copies: where an address lies, and what the documented synchronisation of each direction asks for.
#pragma once
#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

enum class Place : std::uint8_t { Pageable, Pinned, Managed, Device, Invalid };

struct Access {
  bool writes = false;
  bool in_graph = false;  // to a graph's node its graph's memory is there before the launch that brings it
};
// Where [address, address + bytes) lies. Invalid: partly outside of its block, memory that was freed, or such as may
// not be used that way.
Place place_of(Driver& driver, std::uintptr_t address, std::uint64_t bytes, Access access);

// Rows of `width` bytes, `pitch` apart, in slices that are `slice` apart; none of the counts is zero.
struct Strides {
  std::uint64_t width = 0, pitch = 0, rows = 1, slice = 0, slices = 1;
};
// From the first to the last byte. Nothing: it does not fit into an address.
std::optional<std::uint64_t> strided_span(const Strides& strides);

enum class Waiting : std::uint8_t { Sync, Async };

// Whether the plain forms wait for their end on this memory: asked for by SYNC_MEMOPS, on the pointer or the context.
bool always_synchronises(Call& call, std::uintptr_t address);

// Checks both ends, then queues the copy with the waiting that CUDA documents for its direction.
CUresult copy(Call& call, CUstream stream, CopyOp op, Waiting waiting);
inline std::uintptr_t number(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}
// The general form of the API, as a strided copy. Nothing: an argument is wrong.
std::optional<CopyOp> from_3d(Driver& driver, const CUDA_MEMCPY3D& p);
CUresult check_copy(Driver& driver, CopyOp& op, bool in_graph = false);
struct CheckedSet {
  CUresult result = CUDA_SUCCESS;
  Place place = Place::Device;
  bool nothing = false;  // no bytes
};
CheckedSet check_set(Driver& driver, const SetOp& op, bool in_graph = false);

}  // namespace tidemark::softgpu
