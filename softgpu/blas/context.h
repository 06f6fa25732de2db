// SPDX-License-Identifier: Apache-2.0
// A cuBLAS handle: modes and a stream, no memory of its own. As with the vendor's, one handle is used by one thread at
// a time; different handles may be used at once. A cuBLAS handle also serves as a cuBLASLt handle (documented, and used
// by PyTorch): both begin with the same two members.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "softgpu/blas/vendor.h"

struct cublasContext {
  static constexpr std::uint64_t kAlive = 0x534f4654424c4153;  // "SOFTBLAS"
  std::uint64_t alive = kAlive;
  void* device_context = nullptr;  // the CUcontext current at creation
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  cublasEmulationStrategy_t emulation_strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  cudaEmulationSpecialValuesSupport emulation_special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  cudaEmulationMantissaControl mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int max_mantissa_bits = 0;
  int mantissa_bit_offset = 0;
  int* mantissa_bit_count = nullptr;
};

struct cublasLtContext {
  std::uint64_t alive = cublasContext::kAlive;
  void* device_context = nullptr;
};
static_assert(offsetof(cublasContext, device_context) == offsetof(cublasLtContext, device_context));

namespace tidemark::softgpu::blas {

// Where handles come from. What was destroyed stays ours, to be used again: a stale handle can then be told from a
// living one without reading freed memory.
template <class Context>
class Handles {
 public:
  static Context* create(const Context& value) {
    std::lock_guard const lock(mutex());
    Context* made = nullptr;
    if (spare().empty()) {
      made = new (std::nothrow) Context(value);
    } else {
      made = spare().back();
      spare().pop_back();
      *made = value;
    }
    return made;
  }
  // False: it is none that is alive.
  static bool destroy(Context* handle) {
    std::lock_guard const lock(mutex());
    if (handle == nullptr || handle->alive != cublasContext::kAlive) return false;
    handle->alive = 0;
    spare().push_back(handle);
    return true;
  }

 private:
  // Leaked: programs destroy handles while they end.
  static std::mutex& mutex() {
    static auto& instance = *new std::mutex;
    return instance;
  }
  static std::vector<Context*>& spare() {
    static auto& instance = *new std::vector<Context*>;
    return instance;
  }
};

inline bool is_alive(cublasLtHandle_t handle) {
  return handle != nullptr && handle->alive == cublasContext::kAlive;
}
inline bool is_alive(cublasHandle_t handle) {
  return handle != nullptr && handle->alive == cublasContext::kAlive;
}

}  // namespace tidemark::softgpu::blas
