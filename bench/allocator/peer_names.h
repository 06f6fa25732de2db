// SPDX-License-Identifier: Apache-2.0
// The allocators that are compared, by name.
#pragma once

namespace tidemark::bench {

struct PeerName {
  const char* name;
  const char* what;
  const char* environment = "";  // of its processes
};

inline constexpr const char* kExpandable = "PYTORCH_ALLOC_CONF=expandable_segments:True";

// PyTorch's allocator; without a PyTorch, its rules.
inline constexpr PeerName kPeers[] = {
    {"tidemark", "ours on the software device, in the order of streams (cudaMallocAsync)"},
    {"tidemark unordered", "ours as cudaMalloc and cudaFree are served: no stream is named"},
    {"tidemark alone", "ours, over a driver that does nothing"},
    {"tidemark recorded", "ours, each call recorded in a trace"},
    {"tidemark unplanned", "ours, without plans"},
    {"tidemark planned", "ours, with plans that are made while an allocation waits"},
    {"pytorch", "PyTorch's allocator as it comes"},
    {"pytorch expandable", "the same with expandable segments", kExpandable},
    {"pytorch history", "PyTorch's allocator with its memory history on, without stacks"},
    {"pytorch rules", "a model of PyTorch's allocator: what it reserves, not how fast"},
    {"expandable rules", "the same of expandable segments"},
    {"cub", "cub::CachingDeviceAllocator, bins of powers of two, unlimited"},
    {"driver", "cuMemAlloc and cuMemFree"},
    {"driver pool", "cuMemAllocAsync, a pool that keeps everything"},
    {"mimalloc", "ordinary memory: the limit"},
};

}  // namespace tidemark::bench
