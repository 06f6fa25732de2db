// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/copy.h"

#include <cstring>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/memory.h"

namespace tidemark::softgpu {
namespace {

// Where the memory of programs ends, in the layout that Linux gives without being asked for more.
#if defined(__x86_64__)
constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;
#else
constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 48;
#endif

// Addresses that can only be a device's: there is no memory of the host behind them.
bool is_device_address(Driver& driver, std::uintptr_t address) {
  return driver.blocks.in_window(address) || in_reservation(address);
}

bool allows(const Block& block, Access access) {
  if (block.doomed) return access.in_graph && block.kind == MemoryKind::Graph;
  if (block.kind != MemoryKind::Mapped) return true;
  return widest_access(block) >=
         unsigned{access.writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
}

Place place_of_block(const Block& block) {
  switch (block.kind) {
    case MemoryKind::Pinned:
    case MemoryKind::Registered: return Place::Pinned;
    case MemoryKind::Managed: return Place::Managed;
    default: return Place::Device;
  }
}

// From the first to the last byte. Nothing: no address space is that large, however the numbers would wrap around.
std::optional<std::uint64_t> span_of(const CopyOp& op, std::uint64_t pitch, std::uint64_t slice) {
  if (op.width == 0 || op.height == 0 || op.depth == 0) return 0;
  return strided_span({.width = op.width, .pitch = pitch, .rows = op.height, .slice = slice, .slices = op.depth});
}

struct Ends {
  Place source, destination;
};

std::optional<Ends> ends_of(Driver& driver, const CopyOp& op, bool in_graph) {
  auto const source = span_of(op, op.source_pitch, op.source_slice);
  auto const destination = span_of(op, op.destination_pitch, op.destination_slice);
  if (!source || !destination) return std::nullopt;
  Ends const ends{place_of(driver, op.source, *source, {.in_graph = in_graph}),
                  place_of(driver, op.destination, *destination, {.writes = true, .in_graph = in_graph})};
  if (ends.source == Place::Invalid || ends.destination == Place::Invalid) return std::nullopt;
  if (op.bytes() != 0 && ((op.source_must_be_device && ends.source == Place::Pageable) ||
                          (op.destination_must_be_device && ends.destination == Place::Pageable)))
    return std::nullopt;
  return ends;
}

// The program may reuse a pageable source as soon as the call returns: the copy reads it now.
void stage(CopyOp& op) {
  op.staged = std::make_shared<std::vector<std::byte>>(op.bytes());
  std::byte* to = op.staged->data();
  for (std::uint64_t z = 0; z < op.depth; ++z)
    for (std::uint64_t y = 0; y < op.height; ++y, to += op.width)
      std::memcpy(to, reinterpret_cast<const void*>(op.source + z * op.source_slice + y * op.source_pitch), op.width);
  op.source_pitch = op.width;
  op.source_slice = op.width * op.height;
}

}  // namespace

std::optional<std::uint64_t> strided_span(const Strides& s) {
  std::uint64_t rows = 0, slices = 0, span = 0;
  bool const wraps = __builtin_mul_overflow(s.rows - 1, s.pitch, &rows) ||
                     __builtin_mul_overflow(s.slices - 1, s.slice, &slices) ||
                     __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, s.width, &span);
  return wraps ? std::nullopt : std::optional(span);
}

Place place_of(Driver& driver, std::uintptr_t address, std::uint64_t bytes, Access access) {
  if (bytes > ~address) return Place::Invalid;  // its end would wrap around
  if (address == 0) return bytes == 0 ? Place::Pageable : Place::Invalid;
  std::uintptr_t at = address;
  std::optional<Place> place;
  // Neighbouring mappings of a reservation count as one range.
  for (;;) {
    Block const* const block = driver.blocks.find(at);
    if (block == nullptr) break;
    if (!allows(*block, access)) return Place::Invalid;
    place = place_of_block(*block);
    at = block->address + block->requested;
    if (at >= address + bytes) return *place;
    if (block->kind != MemoryKind::Mapped && *place != Place::Pinned) return Place::Invalid;
  }
  if (place && *place == Place::Device) return Place::Invalid;
  bool const beyond_everything = address + bytes > kAddressSpace;
  return beyond_everything || is_device_address(driver, at) ? Place::Invalid : Place::Pageable;
}

bool always_synchronises(Call& call, std::uintptr_t address) {
  Block const* const block = call.driver.blocks.find(address);
  return (call.context->flags & CU_CTX_SYNC_MEMOPS) != 0 || (block != nullptr && block->sync_memops);
}

CUresult check_copy(Driver& driver, CopyOp& op, bool in_graph) {
  auto const ends = ends_of(driver, op, in_graph);
  if (!ends) return CUDA_ERROR_INVALID_VALUE;
  op.source_is_device = ends->source != Place::Pageable;
  op.destination_is_device = ends->destination != Place::Pageable;
  return CUDA_SUCCESS;
}

CUresult copy(Call& call, CUstream stream, CopyOp op, Waiting waiting) {
  if (CUresult const wrong = check_copy(call.driver, op, is_capturing(stream)); wrong != CUDA_SUCCESS) return wrong;
  if (is_capturing(stream))
    return waiting == Waiting::Sync ? capture_violated(call, stream) : issue(call, stream, std::move(op));
  if (waiting == Waiting::Sync && is_capture_forbidden(call)) return capture_violated(call, nullptr);
  if (op.bytes() == 0) return CUDA_SUCCESS;
  fault_slow(call.driver, SlowCall::Memcpy);
  Ends const ends = *ends_of(call.driver, op, false);
  bool const from_pageable = ends.source == Place::Pageable;
  bool const to_pageable = ends.destination == Place::Pageable;
  bool const to_host = to_pageable || ends.destination == Place::Pinned;
  bool const from_host = from_pageable || ends.source == Place::Pinned;
  // Managed memory is the host's as much as the device's: after the plain form it may read and write it at once.
  bool const managed = ends.source == Place::Managed || ends.destination == Place::Managed;
  bool const wait_anyway = waiting == Waiting::Sync && (managed || always_synchronises(call, op.source) ||
                                                        always_synchronises(call, op.destination));
  if (from_pageable && !to_host && !wait_anyway && call.driver.config.schedule != Schedule::Eager) {
    // Documented: the stream is synchronised, then the call returns once the source has been staged.
    if (waiting == Waiting::Sync) call.engine().wait_stream(call.lock, *stream);
    stage(op);
    return issue(call, stream, std::move(op));
  }
  bool const host_waits = wait_anyway || from_pageable || to_pageable || (from_host && to_host) ||
                          (waiting == Waiting::Sync && (from_host || to_host));
  return host_waits ? issue_and_wait(call, stream, std::move(op)) : issue(call, stream, std::move(op));
}

}  // namespace tidemark::softgpu
