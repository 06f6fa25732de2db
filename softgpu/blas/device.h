// SPDX-License-Identifier: Apache-2.0
// The one way from these libraries to the device: work goes to a stream, in stream order, with the memory it touches.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "softgpu/blas/vendor.h"
#include "softgpu/interface/softgpu.h"

namespace tidemark::softgpu::blas {

// Makes sure there is a device, a current context (device 0's primary context when the thread has none, as the vendor's
// library does through its runtime) and, unless in dry run, OpenBLAS. Gives the current context.
cublasStatus_t open_device(void** context);
bool dry_run();
// `context` becomes current when the thread has none.
cublasStatus_t submit(cudaStream_t stream, void* context, const SoftgpuWork& work);
cublasStatus_t synchronize(cudaStream_t stream);
cublasStatus_t to_status(int cuda_result);

// What a call that is not there answers: named once on stderr; success in dry run, where all computation is skipped.
cublasStatus_t not_supported(const char* what);

// Work whose arguments are the captures of `body`, copied by the device until it runs (again and again in a graph).
template <class F>
SoftgpuWork make_work(const char* name, const F& body, const SoftgpuTouch* touches, std::size_t touch_count) {
  static_assert(std::is_trivially_copyable_v<F>, "captures are copied as bytes");
  return {.name = name,
          .run =
              [](void* args) {
                alignas(F) std::byte copy[sizeof(F)];  // the device promises no alignment
                std::memcpy(copy, args, sizeof(F));
                (*std::launder(reinterpret_cast<F*>(copy)))();
              },
          .args = &body,
          .args_bytes = sizeof(F),
          .touches = touches,
          .touch_count = touch_count};
}

}  // namespace tidemark::softgpu::blas
