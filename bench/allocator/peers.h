// SPDX-License-Identifier: Apache-2.0
// The allocators that are compared, made by name.
#pragma once
#include <string_view>

#include "bench/allocator/other_peers.h"
#include "bench/allocator/peer_names.h"
#include "bench/allocator/tidemark_peer.h"

namespace tidemark::bench {

// Null: this build has none, or it cannot be opened (then stderr says why).
const TorchTable* torch();

// Where this allocator makes no plans by itself, there is only the one without.
inline bool set_plans(auto& options, bool on, double search_seconds) {
  if constexpr (requires { options.plan; }) {
    options.plan = on;
    options.plan_in_foreground = true;
    options.plan_search_seconds = search_seconds;
    return true;
  }
  return !on;
}

// f(peer). False: it is not here.
template <class F>
bool with_peer(std::string_view name, Device& device, F f, double search_seconds = 0) {
  auto const run = [&](auto&& peer) {
    f(peer);
    return true;
  };
  if (name == "tidemark") return run(TidemarkPeer(device));
  if (allocator::Options options; name == "tidemark planned" || name == "tidemark unplanned")
    return set_plans(options, name == "tidemark planned", search_seconds) && run(TidemarkPeer(device, options));
  if (name == "tidemark unordered") return run(TidemarkSharedPeer(device));
  if (name == "tidemark alone") return run(TidemarkAlonePeer(device));
  if (name == "tidemark recorded") return run(TidemarkRecordedPeer(device));
#ifdef BENCH_CUB
  if (name == "cub") return run(CubPeer(device));
#endif
  if (name == "driver") return run(DriverPeer(device));
  if (name == "driver pool") return run(PoolPeer(device));
  if (name == "pytorch rules") return run(RulesPeer(device, analysis::pytorch_rules()));
  if (name == "expandable rules") return run(RulesPeer(device, analysis::expandable_rules()));
  if (name == "mimalloc") {
    MimallocPeer peer(device);
    return peer && run(peer);
  }
  if (name == "pytorch" || name == "pytorch expandable" || name == "pytorch history") {
    const TorchTable* const table = torch();
    return table != nullptr && run(TorchPeer(device, *table, name == "pytorch history"));
  }
  return false;
}

}  // namespace tidemark::bench
