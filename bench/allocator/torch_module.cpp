// SPDX-License-Identifier: Apache-2.0
// PyTorch's own caching allocator, from the wheel's libc10_cuda, without Python and without the rest of PyTorch. How it
// works (expandable segments and so on) is for the environment to say, as in any program: PYTORCH_ALLOC_CONF.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/PeerToPeerAccess.h>
#include <torch/headeronly/version.h>

#include <cstdio>

#include "bench/allocator/torch_table.h"

// Not in a header: libtorch_cuda tells it to libc10_cuda when it is loaded, and there is none here.
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(DeviceIndex));
}

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

int start(int history) {
  try {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) return 0;
    c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
    caching::init(devices);
    // What Python's start of CUDA does too; expandable segments ask for it.
    c10::cuda::detail::init_p2p_access_cache(devices);
    if (history != 0) caching::recordHistory(true, nullptr, 1'000'000, caching::RecordContext::NEVER, true, {});
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "PyTorch's allocator: %s\n", e.what());
    return 0;
  }
}

void* allocate(size_t bytes, void* stream) {
  try {
    return caching::get()->raw_alloc_with_stream(bytes, static_cast<cudaStream_t>(stream));
  } catch (const c10::OutOfMemoryError&) {
    return nullptr;
  }
}

void release(void* block) {
  caching::get()->raw_delete(block);
}

void record_stream(void* block, void* stream) {
  caching::CUDAAllocator* const allocator = caching::get();
  c10::DataPtr owned(block, block, allocator->raw_deleter(), c10::Device(c10::DeviceType::CUDA, 0));
  allocator->recordStream(owned, c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), 0));
  owned.release_context();  // it stays the caller's
}

const TorchTable kTable = {TORCH_VERSION, start, allocate, release, record_stream};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchTable* bench_torch_table() {
  return &kTable;
}
