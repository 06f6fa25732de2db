// SPDX-License-Identifier: Apache-2.0
// Work as the API describes it: queued on a stream now, or kept as a node of a graph and queued at each launch.
#pragma once
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

struct KernelOp {
  CUkernel kernel = nullptr;
  SoftgpuLaunch launch{};
  // The arguments' bytes, copied at the call, and a pointer to each. Empty in dry run when their sizes are unknown.
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> offsets;
  std::vector<std::byte> packed;  // as the program gave them, where it gave one buffer
  std::vector<Touch> touches;
  CUfunction function = nullptr;
  CUresult fault = CUDA_SUCCESS;  // injected
};

// A copy of width x height x depth bytes between two strided places. Staged: the source was read at the call.
struct CopyOp {
  std::uintptr_t source = 0, destination = 0;
  std::uint64_t source_pitch = 0, source_slice = 0;
  std::uint64_t destination_pitch = 0, destination_slice = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
  bool source_is_device = true, destination_is_device = true;
  // The call says that this end is the device's: host memory that the device does not know is refused there.
  bool source_must_be_device = false, destination_must_be_device = false;
  std::shared_ptr<std::vector<std::byte>> staged;
  // Of a graph's node: how the program described it. Its memory may have gone by the time of a launch.
  std::shared_ptr<const CUDA_MEMCPY3D> described;
  std::uint64_t bytes() const { return width * height * depth; }
};

struct SetOp {
  std::uintptr_t destination = 0;
  std::uint64_t pitch = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint64_t width = 0, height = 1;  // width in elements
  bool in_graph = false;
};

struct HostOp {
  std::function<void()> call;
  CUhostFn function = nullptr;  // null: a stream callback, which graphs do not have
  void* data = nullptr;
  bool always = false;  // also when the context has failed
};

// Work of a sister library (softgpu_submit).
struct LibraryOp {
  const char* name = "";
  void (*run)(void*) = nullptr;
  std::shared_ptr<std::vector<std::byte>> args;
  std::vector<Touch> touches;
};

// Memory comes or goes in stream order: for the checker's eyes and, in graphs, for the bill.
struct MemoryOp {
  std::uintptr_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  // 0: it goes
  std::uint64_t frees = 0;       // the generation that goes
  bool overlay = false;          // an allocator's own block (softgpu_range_async)
  bool releases = false;         // plain memory that is freed in stream order
  std::vector<Ref<Ticket>> waits;
};

// A 32- or 64-bit word that the stream writes, or waits for.
struct WordOp {
  std::uintptr_t address = 0;
  std::uint64_t value = 0;
  bool wide = false;
  bool waits = false;
  unsigned flags = 0;
};

struct EmptyOp {};

using Operation = std::variant<EmptyOp, KernelOp, CopyOp, SetOp, HostOp, LibraryOp, MemoryOp, WordOp>;

// One of a batch's operations; an EmptyOp-like barrier gives no address. Also checks the address.
CUresult word_of(Driver& driver, const CUstreamBatchMemOpParams& params, WordOp* out);
// The item that carries the operation out once.
Item make_item(Driver& driver, const Operation& operation);
// Queues the operation, or, when the stream captures, adds it to the graph. The ticket is empty in a capture.
CUresult issue(Call& call, CUstream stream, Operation operation, Ref<Ticket>* ticket = nullptr);
// Queues and waits until it is done. Not during a capture.
CUresult issue_and_wait(Call& call, CUstream stream, Operation operation);

}  // namespace tidemark::softgpu
