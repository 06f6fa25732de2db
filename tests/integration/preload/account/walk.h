// SPDX-License-Identifier: Apache-2.0
// A random walk through the memory calls of the driver. What it may name next is live or stale: what a call did is the
// device's to say. Of linear and pool memory it keeps an account of its own, which is the device's where blocks are the
// driver's, and the only one where they are served. The same seed makes the same calls.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace walk {

inline constexpr int kDevices = 2;

// A block that a call has given and none has taken back.
struct Own {
  std::uint64_t bytes = 0;
  bool ordered = false;  // of a pool
  int device = 0;
  CUcontext context = nullptr;  // whose end ends it; null: none
};

class Walk {
 public:
  explicit Walk(std::uint64_t seed);
  // Does something; its name.
  const char* step();
  // How often each kind of step was tried and how often it went well.
  struct Count {
    int tried = 0, well = 0;
  };
  const std::map<std::string, Count>& counts() const { return counts_; }
  std::uint64_t own_bytes(int device, bool ordered) const;

 private:
  using Action = bool (Walk::*)();
  struct Kind {
    const char* name;
    Action action;
    int weight;
  };
  static const std::vector<Kind>& kinds();

  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  bool chance(int percent) { return pick(100) < static_cast<std::uint64_t>(percent); }
  template <class T>
  T any(const std::vector<T>& from, T otherwise) {
    return from.empty() ? otherwise : from[pick(from.size())];
  }
  template <class T>
  T take(std::vector<T>& from, T otherwise);
  void remember(CUdeviceptr block);
  void own(CUdeviceptr block, std::uint64_t bytes);
  void own_ordered(CUdeviceptr block, std::uint64_t bytes, int device);
  void context_ended(CUcontext context);
  std::size_t any_size();
  CUstream any_stream();
  std::size_t granules() { return (1 + pick(6)) << 21; }

  // linear.cpp
  bool alloc();
  bool alloc_pitch();
  bool alloc_managed();
  bool prefetch();
  bool free();
  bool alloc_host();
  bool free_host();
  bool register_host();
  bool unregister_host();
  bool array();
  bool array_3d();
  bool mipmap();
  bool destroy_array();
  bool destroy_mipmap();
  bool mistaken();
  // ordered.cpp
  bool make_stream();
  bool destroy_stream();
  bool alloc_async();
  bool alloc_from_pool();
  bool free_async();
  bool make_pool();
  bool destroy_pool();
  bool trim_pool();
  bool set_threshold();
  bool synchronize();
  bool graph_by_capture();
  bool graph_by_nodes();
  bool launch_graph();
  bool destroy_graph();
  bool trim_graphs();
  // virtual.cpp
  bool reserve();
  bool unreserve();
  bool create_physical();
  bool release_physical();
  bool retain_physical();
  bool map();
  bool unmap();
  // context.cpp
  bool make_context();
  bool destroy_context();
  bool switch_context();
  bool reset_device();
  bool release_primary();
  CUcontext primary(int device);
  void settle();

  struct Range {
    CUdeviceptr at = 0;
    std::size_t bytes = 0;
  };
  std::mt19937_64 random_;
  std::map<std::string, Count> counts_;
  std::map<CUdeviceptr, Own> own_;
  std::vector<CUdeviceptr> blocks_;  // device, managed, pool and graph memory; some of it freed long ago
  struct Managed {
    CUdeviceptr block = 0;
    CUdevice device = 0;
  };
  std::vector<Managed> managed_;
  std::vector<void*> pinned_;
  std::vector<Range> registered_;
  std::vector<CUarray> arrays_;
  std::vector<CUmipmappedArray> mipmaps_;
  std::vector<CUstream> streams_;
  std::vector<CUmemoryPool> pools_;
  std::map<CUmemoryPool, int> pool_devices_;
  bool nameless_ = false;  // a pool has been destroyed before its blocks
  std::vector<CUgraphExec> graphs_;
  std::vector<Range> reserved_, mapped_;
  std::vector<CUmemGenericAllocationHandle> physical_;
  std::map<CUmemGenericAllocationHandle, std::size_t> physical_bytes_;
  std::vector<CUcontext> contexts_;
  CUcontext primaries_[kDevices] = {};
};

template <class T>
T Walk::take(std::vector<T>& from, T otherwise) {
  if (from.empty()) return otherwise;
  std::size_t const at = pick(from.size());
  T const taken = from[at];
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
  return taken;
}

}  // namespace walk
