// SPDX-License-Identifier: Apache-2.0
// What stands behind the driver API's opaque handles. All of it belongs to the engine's lock.
#pragma once
// With this, cuda.h declares every version of an entry point under its exported name (cuMemAlloc_v2) and renames
// nothing.
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/kernel/registry.h"
#include "softgpu/model/blocks.h"
#include "softgpu/model/image.h"
#include "softgpu/queue/engine.h"
#include "softgpu/queue/stream_pool.h"

namespace tidemark::softgpu {
struct Device;
struct Capture;
}  // namespace tidemark::softgpu

struct CUctx_st : tidemark::softgpu::StreamGroup {
  tidemark::softgpu::Device* device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  bool ending = false;   // being destroyed: nothing new begins in it
  bool charged = false;  // the context overhead is on the device's bill
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  std::map<int, std::size_t> limits;
  std::set<int> peers;  // devices whose memory this context may use
  std::map<std::uint64_t, CUstream> per_thread_streams;
  CUstream legacy_handle = nullptr;
  int captures = 0;                   // streams of it that capture
  int blocking_captures = 0;          // of these, such as the legacy stream would have to wait for
  std::vector<CUstream> spare_lanes;  // streams of ours for graph launches, given back by executable graphs
};

struct CUstream_st : tidemark::softgpu::Stream {
  CUcontext context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool destroyed = false;  // the program is done with it; lives on until its work is
  bool is_default = false;
  bool is_lane = false;  // of ours, for graph launches
  std::shared_ptr<tidemark::softgpu::Capture> capture;
  CUstreamAttrValue access_policy{};
};

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  tidemark::Ref<tidemark::softgpu::Ticket> ticket;      // null: never recorded
  std::shared_ptr<tidemark::softgpu::Capture> capture;  // recorded in a capture: an edge, not a point in time
  std::vector<CUgraphNode> captured_nodes;
};

struct CUmemPoolHandle_st {
  int device = 0;
  bool is_default = false;
  bool destroyed = false;  // the program is done with it; lives on until nothing of it is in use
  CUmemPoolProps props{};
  std::unique_ptr<tidemark::softgpu::StreamPool> pool;
  std::map<int, CUmemAccess_flags> access;
};

// A code image as the program gave it: names that were described or read from it.
struct CUlib_st {
  const void* image = nullptr;
  std::vector<CUkernel> kernels;
  std::map<std::string, CUkernel, std::less<>> kernel_by_name;
  struct Variable {
    std::uint64_t bytes = 0;
    bool managed = false;
    // Device memory, per context (key: device) since each device has its own copy.
    std::map<int, tidemark::softgpu::Block*> blocks;
  };
  std::map<std::string, Variable, std::less<>> variables;
  bool names_known = false;  // false: the image could not be read, so a name is taken on trust
  bool facts_read = false;   // what the image says of its code is below and in its kernels
  int architecture = 0;      // 75 for sm_75; 0: not known
  std::uint32_t constant_bytes = 0;
  std::map<CUcontext, CUmodule> modules;
};

struct CUkern_st {
  std::string name;
  CUlibrary library = nullptr;
  const SoftgpuKernel* body = nullptr;
  // Parameters as far as they are known: from the CPU body, or (pointers only) from the mangled name.
  std::vector<SoftgpuParam> params;
  bool params_known = false;
  std::uint32_t static_shared_bytes = 0;  // read it through static_shared()
  std::uint32_t thread_limit = 0;         // __launch_bounds__, through max_threads(); 0: none
  bool launches = false;                  // kernels, from the device; known once its image was read
  std::map<int, int> attributes;
  std::map<CUmodule, CUfunction> functions;
};

// A link in progress: what its inputs hold, and the image made of them.
struct CUlinkState_st {
  tidemark::softgpu::ImageNames names;
  std::string image;
};

struct CUmod_st {
  std::uint64_t id = 0;
  CUcontext context = nullptr;
  CUlibrary library = nullptr;
  bool owns_library = false;
};

struct CUfunc_st {
  CUkernel kernel = nullptr;
  CUmodule module = nullptr;
};

struct CUarray_st {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  std::uint64_t element_bytes = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1, slices = 1;
  int device = 0;
  CUcontext context = nullptr;
  tidemark::softgpu::Block* block = nullptr;  // null: a view into a mipmapped array's memory
  std::uintptr_t address = 0;
  CUmipmappedArray parent = nullptr;
};

struct CUmipmappedArray_st {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  std::vector<CUarray> levels;
  CUcontext context = nullptr;
};

// Physical memory of the virtual memory management API: counted by handles and by mappings.
struct PhysicalMemory {
  std::uint64_t bytes = 0;
  int device = 0;
  std::uint64_t offset = 0;  // its place in the memory file
  int handles = 0;
  int mappings = 0;
  CUmemAllocationProp props{};
};
