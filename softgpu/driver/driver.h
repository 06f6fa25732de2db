// SPDX-License-Identifier: Apache-2.0
// The driver's state and the way every entry point enters it.
//
// An entry point is `return call(...)`: with_driver for calls that need cuInit, with_context for those that need a
// current context. Both lock the engine, answer for a forked child and for the context's sticky error, and turn a lack
// of host memory into CUDA_ERROR_OUT_OF_MEMORY. No exception leaves them.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <new>
#include <optional>

#include "softgpu/driver/objects.h"
#include "softgpu/model/config.h"
#include "softgpu/model/handle_pool.h"
#include "softgpu/queue/checker.h"

namespace tidemark::softgpu {

struct GraphObjects;
class GraphHeap;
struct GraphBacking;
struct GraphAllocation;

struct Device {
  int ordinal = 0;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<LinearMemory> memory;
  std::unique_ptr<LinearWindow> window;
  CUcontext primary = nullptr;  // made at the first retain, kept for ever: its handle never changes
  unsigned primary_references = 0;
  bool primary_active = false;
  unsigned primary_flags = 0;
  CUmemoryPool default_pool = nullptr;
  CUmemoryPool current_pool = nullptr;
  // Memory of graphs: address space, physical memory, and allocations that launches have left to the program.
  std::shared_ptr<GraphHeap> graph_heap;
  std::vector<std::shared_ptr<GraphBacking>> graph_backings;
  std::vector<std::shared_ptr<GraphAllocation>> graph_allocations;
  PoolCounter graph_used, graph_reserved;
};

class Driver {
 public:
  // The one instance: made at first use, never destroyed.
  static Driver& get();
  // nullptr when the environment is wrong; the reason was said on stderr.
  static Driver* configured();

  const Config config;
  bool dry_run = false;
  bool initialised = false;
  Checker checker_storage;
  Checker* checker;  // null unless checking
  Engine engine;
  BlockMap blocks;
  std::vector<std::unique_ptr<Device>> devices;

  HandlePool<CUctx_st> contexts{1u << 12};
  HandlePool<CUstream_st> streams;
  HandlePool<CUevent_st> events{1u << 24};
  HandlePool<CUmemPoolHandle_st> pools{1u << 14};
  HandlePool<CUlib_st> libraries;
  HandlePool<CUkern_st> kernels;
  HandlePool<CUmod_st> modules;
  HandlePool<CUfunc_st> functions;
  HandlePool<CUlinkState_st> links;
  HandlePool<CUarray_st> arrays;
  HandlePool<CUmipmappedArray_st> mipmapped_arrays;
  HandlePool<PhysicalMemory> physical;
  GraphObjects& graph;
  std::vector<std::shared_ptr<Capture>> captures;  // under way

  std::uint64_t next_id() { return ++last_id_; }
  Device* device(CUdevice ordinal) {
    return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size()
               ? devices[static_cast<std::size_t>(ordinal)].get()
               : nullptr;
  }
  std::atomic<bool> forked{false};  // in a child: contexts do not survive fork
  std::atomic<bool> ended{false};   // the process is being torn down

 private:
  explicit Driver(Config read);
  std::uint64_t last_id_ = 0;
};

// One call into the driver: the lock is held from here until the entry point returns (or waits).
struct Call {
  Driver& driver;
  Lock lock;
  CUcontext context = nullptr;  // current; valid in with_context

  Engine& engine() { return driver.engine; }
  Device& device() { return *context->device; }
};

CUresult enter_driver(std::optional<Call>& call);
CUresult enter_context(std::optional<Call>& call);
// The context's sticky error, if work has failed since.
CUresult leave(Call& call, CUresult result);

template <class F>
CUresult with_driver(F f) {
  try {
    std::optional<Call> call;
    if (CUresult const refused = enter_driver(call); refused != CUDA_SUCCESS) return refused;
    return f(*call);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
}

template <class F>
CUresult with_context(F f) {
  try {
    std::optional<Call> call;
    if (CUresult const refused = enter_context(call); refused != CUDA_SUCCESS) return refused;
    return leave(*call, f(*call));
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
}

// For calls about a device: f(call, device).
template <class F>
CUresult with_device(CUdevice ordinal, F f) {
  return with_driver([&](Call& call) -> CUresult {
    Device* const device = call.driver.device(ordinal);
    return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : f(call, *device);
  });
}

// A number for the calling thread, from 1.
std::uint64_t thread_number();
// The context on top of the calling thread's stack, or nullptr.
std::vector<CUcontext>& context_stack();
CUcontext current_context(Driver& driver);

// Resolves a handle that may be 0 (which default stream depends on the calling form), CU_STREAM_LEGACY or
// CU_STREAM_PER_THREAD. nullptr: not a stream of a live context.
CUstream stream_of(Call& call, CUstream handle);
// For calls about a stream of any live context: f(call, stream).
template <class F>
CUresult with_stream(CUstream handle, F f) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call, stream);
  });
}
CUstream make_stream(Driver& driver, CUcontext context, unsigned flags, int priority);
// Streams that were destroyed and have no work left.
void reap_streams(Driver& driver, CUcontext context);

inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;
void device_uuid(int ordinal, unsigned char out[16]);

// Context life: shared by primary contexts and created ones.
CUcontext make_context(Driver& driver, Device& device, unsigned flags);
// What a context takes from its device beside its blocks. False: there is not enough left.
bool charge_overhead(Driver& driver, CUcontext context);
// Waits for the context's work, frees everything it owns.
void empty_context(Call& call, CUcontext context);

// The host has waited for something: pools may give memory back.
void settle_pools(Driver& driver);
// Injected faults. Each counts its own kind of call.
bool fault_oom(Driver& driver, std::uint64_t bytes);
CUresult fault_launch(Driver& driver);
// Whether a question for an event is answered with "done", whatever is true.
bool fault_early(Driver& driver);
void fault_slow(Driver& driver, SlowCall call);

extern "C" int softgpu_not_supported(const char* name);

}  // namespace tidemark::softgpu
