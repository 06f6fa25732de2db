// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate and free.
//
// An allocation has fixed addresses; a launch makes it alive, and a free (a node, the program's own, or the next launch
// of a graph that frees by itself) ends that life. Physical memory is the device's: an executable graph takes a backing
// of the size of its plan at its first launch and keeps it between launches. Executable graphs whose launches are
// ordered one behind another share a backing; one that holds an allocation which is alive is nobody else's.
// Equations: graph_reserved = sum of all backings = what the ledger was charged for them; graph_used = sum of those
// that some executable graph holds. All of it belongs to the engine's lock.
#pragma once
#include <set>

#include "softgpu/driver/graph_heap.h"
#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

struct GraphBacking {
  struct Use {
    Ref<Ticket> ticket;
    std::uint64_t executable;  // id: its next launch comes later in any case
  };
  std::uint64_t bytes = 0;
  std::vector<Use> uses;  // what may still touch it
  int holders = 0;        // executable graphs
  int alive = 0;          // allocations
};

struct GraphAllocation : std::enable_shared_from_this<GraphAllocation> {
  GraphAllocation(std::shared_ptr<GraphHeap> addresses, Block* reserved)
      : heap(std::move(addresses)), block(reserved) {}
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;
  ~GraphAllocation() { heap->release(block); }

  std::shared_ptr<GraphHeap> heap;
  Block* block;
  CUmemPoolProps properties{};
  std::vector<CUmemAccessDesc> access;
  std::uint64_t owner = 0;                // the graph's id
  std::set<std::uint64_t> freed_in;       // graphs that have a free node for it
  bool alive = false;                     // as the program sees it
  std::shared_ptr<GraphBacking> backing;  // of its newest life
  std::uint64_t executable = 0;           // that gave it this life
};

// A new allocation for a node. Nothing: an argument is wrong (`result`), or no addresses are left.
std::shared_ptr<GraphAllocation> make_allocation(Call& call, const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                                                 CUresult* result);
// Which allocation a new free node of this graph would free; null when the rules do not allow it.
std::shared_ptr<GraphAllocation> find_freeable(Driver& driver, CUgraph graph, CUdeviceptr address);

// Life and death in a launch: what the host sees changes now, what the device sees when the item runs.
Item begin_life(Driver& driver, const std::shared_ptr<GraphAllocation>& allocation,
                const std::shared_ptr<GraphBacking>& backing, std::uint64_t executable);
Item end_life(Driver& driver, const std::shared_ptr<GraphAllocation>& allocation);
// Until then the physical memory is taken: a free that stands by itself, or a whole launch (which comes after all
// earlier ones of the same executable graph).
void note_free(GraphBacking& backing, Ref<Ticket> ticket, std::uint64_t executable);
void note_use(GraphBacking& backing, Ref<Ticket> ticket, std::uint64_t executable);

// What a launch on this stream needs of one device.
struct BackingRequest {
  int device = 0;
  std::uint64_t bytes = 0;
  const Stream* stream = nullptr;
  std::uint64_t executable = 0;
};
// Keeps `held` if it can, else finds or makes another. False: the device does not have it. The launch waits for
// `waits`.
bool take_backing(Driver& driver, const BackingRequest& request, std::shared_ptr<GraphBacking>& held,
                  std::vector<Ref<Ticket>>& waits);
void drop_backing(Driver& driver, int device, std::shared_ptr<GraphBacking>& held);

// cuMemAllocAsync in a capturing stream: a memory node.
CUresult capture_allocation(Call& call, CUstream stream, std::uint64_t bytes, int device, CUdeviceptr* out);
// cuMemFreeAsync of graph memory: a node when the stream captures, else an ordinary free of what a launch left alive.
CUresult free_graph_block(Call& call, Block* block, CUstream stream);
// The context goes, and with it what its launches have left alive.
void free_graph_memory(Driver& driver, CUcontext context);

}  // namespace tidemark::softgpu
