// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/preload/account/walk.h"

namespace walk {

const std::vector<Walk::Kind>& Walk::kinds() {
  static const std::vector<Kind> all{
      {"alloc", &Walk::alloc, 14},
      {"alloc pitch", &Walk::alloc_pitch, 3},
      {"alloc managed", &Walk::alloc_managed, 4},
      {"prefetch", &Walk::prefetch, 4},
      {"free", &Walk::free, 18},
      {"alloc host", &Walk::alloc_host, 4},
      {"free host", &Walk::free_host, 3},
      {"register host", &Walk::register_host, 3},
      {"unregister host", &Walk::unregister_host, 2},
      {"array", &Walk::array, 3},
      {"array 3D", &Walk::array_3d, 3},
      {"mipmap", &Walk::mipmap, 3},
      {"destroy array", &Walk::destroy_array, 4},
      {"destroy mipmap", &Walk::destroy_mipmap, 2},
      {"mistaken", &Walk::mistaken, 6},
      {"make stream", &Walk::make_stream, 2},
      {"destroy stream", &Walk::destroy_stream, 1},
      {"alloc async", &Walk::alloc_async, 10},
      {"alloc from pool", &Walk::alloc_from_pool, 6},
      {"free async", &Walk::free_async, 12},
      {"make pool", &Walk::make_pool, 2},
      {"destroy pool", &Walk::destroy_pool, 1},
      {"trim pool", &Walk::trim_pool, 2},
      {"set threshold", &Walk::set_threshold, 1},
      {"synchronize", &Walk::synchronize, 6},
      {"graph by capture", &Walk::graph_by_capture, 2},
      {"graph by nodes", &Walk::graph_by_nodes, 2},
      {"launch graph", &Walk::launch_graph, 4},
      {"destroy graph", &Walk::destroy_graph, 2},
      {"trim graphs", &Walk::trim_graphs, 1},
      {"reserve", &Walk::reserve, 3},
      {"unreserve", &Walk::unreserve, 2},
      {"create physical", &Walk::create_physical, 5},
      {"release physical", &Walk::release_physical, 4},
      {"retain physical", &Walk::retain_physical, 2},
      {"map", &Walk::map, 6},
      {"unmap", &Walk::unmap, 4},
      {"make context", &Walk::make_context, 1},
      {"destroy context", &Walk::destroy_context, 1},
      {"switch context", &Walk::switch_context, 6},
      {"reset device", &Walk::reset_device, 1},
      {"release primary", &Walk::release_primary, 1},
  };
  return all;
}

Walk::Walk(std::uint64_t seed) : random_(seed) {
  cuInit(0);
  cuCtxSetCurrent(primary(0));
}

const char* Walk::step() {
  int sum = 0;
  for (Kind const& kind : kinds()) sum += kind.weight;
  int at = static_cast<int>(pick(static_cast<std::uint64_t>(sum)));
  for (Kind const& kind : kinds()) {
    if ((at -= kind.weight) >= 0) continue;
    Count& count = counts_[kind.name];
    ++count.tried;
    count.well += (this->*kind.action)() ? 1 : 0;
    return kind.name;
  }
  return "";
}

std::size_t Walk::any_size() {
  switch (pick(6)) {
    case 0: return 1 + pick(511);
    case 1: return 1 + pick(1 << 16);
    case 2: return 512 * (1 + pick(4096));
    case 3: return (1 + pick(8)) << 20;
    case 4: return (1 + pick(40)) << 20;
    default: return 1 + pick(4 << 20);
  }
}

// Old names stay: a free of what is gone must change nothing.
void Walk::remember(CUdeviceptr block) {
  blocks_.push_back(block);
  if (blocks_.size() > 200) blocks_.erase(blocks_.begin());
}

void Walk::own(CUdeviceptr block, std::uint64_t bytes) {
  Own fresh{.bytes = bytes};
  cuCtxGetDevice(&fresh.device);
  cuCtxGetCurrent(&fresh.context);
  own_[block] = fresh;
}

void Walk::own_ordered(CUdeviceptr block, std::uint64_t bytes, int device) {
  own_[block] = {.bytes = bytes, .ordered = true, .device = device};
}

void Walk::context_ended(CUcontext context) {
  std::erase_if(own_, [&](auto const& entry) { return entry.second.context == context; });
}

std::uint64_t Walk::own_bytes(int device, bool ordered) const {
  std::uint64_t sum = 0;
  for (auto const& [block, about] : own_)
    if (about.device == device && about.ordered == ordered) sum += about.bytes;
  return sum;
}

CUstream Walk::any_stream() {
  if (chance(30)) return nullptr;
  if (chance(10)) return CU_STREAM_PER_THREAD;
  return any(streams_, CUstream{nullptr});
}

}  // namespace walk
