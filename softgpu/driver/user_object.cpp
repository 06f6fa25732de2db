// SPDX-License-Identifier: Apache-2.0
// User objects: what a graph keeps alive for the program, and the callback when nobody needs it any more.
#include <climits>

#include "softgpu/driver/graph.h"
#include "softgpu/queue/host_thread.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

// The callback runs on the shared thread, as documented; nothing waits for it.
void release_references(Driver& driver, CUuserObject object, std::uint64_t count) {
  object->references -= std::min(count, object->references);
  if (object->references != 0) return;
  run_on_host_thread([destroy = object->destroy, pointer = object->pointer] { destroy(pointer); });
  driver.graph.user_objects.destroy(object);
}

bool is_count(unsigned count) {
  return count != 0 && count <= INT_MAX;
}

}  // namespace

UserReferences::~UserReferences() {
  for (auto const& [object, count] : held_) release_references(*driver_, object, count);
}

void UserReferences::add(CUuserObject object, unsigned count, bool take) {
  held_[object] += count;
  if (take) object->references += count;
}

bool UserReferences::release(CUuserObject object, unsigned count) {
  auto const found = held_.find(object);
  if (found == held_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) held_.erase(found);
  release_references(*driver_, object, count);
  return true;
}

void UserReferences::add_all(const UserReferences& other) {
  for (auto const& [object, count] : other.held_) add(object, count, true);
}

}  // namespace tidemark::softgpu

namespace {

template <class F>
CUresult with_object(CUuserObject object, unsigned count, F f) {
  return with_driver([&](Call& call) -> CUresult {
    if (call.driver.graph.user_objects.check(object) == nullptr || !is_count(count)) return CUDA_ERROR_INVALID_VALUE;
    return f(call);
  });
}

}  // namespace

CUresult CUDAAPI cuUserObjectCreate(CUuserObject* out, void* pointer, CUhostFn destroy, unsigned references,
                                    unsigned flags) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr || destroy == nullptr || !is_count(references)) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
    CUuserObject const object = call.driver.graph.user_objects.create();
    *object = {.pointer = pointer, .destroy = destroy, .references = references};
    *out = object;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned count) {
  return with_object(object, count, [&](Call&) -> CUresult {
    object->references += count;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned count) {
  return with_object(object, count, [&](Call& call) -> CUresult {
    if (count > object->references) return CUDA_ERROR_INVALID_VALUE;
    release_references(call.driver, object, count);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  return with_object(object, count, [&](Call& call) -> CUresult {
    if (call.driver.graph.graphs.check(graph) == nullptr || (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    graph->user_objects.add(object, count, flags != CU_GRAPH_USER_OBJECT_MOVE);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  return with_object(object, count, [&](Call& call) -> CUresult {
    if (call.driver.graph.graphs.check(graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return graph->user_objects.release(object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
