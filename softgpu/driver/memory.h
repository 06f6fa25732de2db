// SPDX-License-Identifier: Apache-2.0
// Blocks of memory as the entry points make and free them.
#pragma once
#include <algorithm>

#include "softgpu/driver/driver.h"

namespace tidemark::softgpu {

// On the current device; nullptr when it does not have it (or a fault was injected).
Block* allocate_device(Call& call, std::uint64_t bytes);
// Host memory of ours (pinned, managed): whole pages, on no device's bill.
Block* allocate_host(Call& call, std::uint64_t bytes, unsigned flags, MemoryKind kind);
// cuMemFree of stream-ordered and of graph memory.
CUresult free_pool_block_now(Call& call, Block* block);
CUresult free_graph_block_now(Call& call, Block* block);

// Takes managed memory off the devices' bills.
void release_residency(Driver& driver, Block& block);

// Whether the address lies in a range that cuMemAddressReserve gave, mapped or not.
bool in_reservation(std::uintptr_t address);

// A mapping's access, which is granted to each device for itself.
inline unsigned access_of(const Block& mapping, int device) {
  return mapping.flags >> (2 * device) & 3u;
}
// One address space on the host: the widest access that any device was given.
inline unsigned widest_access(const Block& mapping) {
  unsigned widest = 0;
  for (unsigned bits = mapping.flags; bits != 0; bits >>= 2) widest = std::max(widest, bits & 3u);
  return widest;
}
inline void set_access(Block& mapping, int device, CUmemAccess_flags access) {
  mapping.flags = (mapping.flags & ~(3u << (2 * device))) | static_cast<unsigned>(access) << (2 * device);
}

}  // namespace tidemark::softgpu
