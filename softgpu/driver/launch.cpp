// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/log.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/function.h"
#include "softgpu/driver/launch.h"
#include "softgpu/driver/module.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

// Where the arguments are: one pointer each, or one packed buffer.
struct Arguments {
  void** each = nullptr;
  const std::byte* packed = nullptr;
  std::size_t packed_bytes = 0;
};

std::optional<Arguments> arguments_of(void** params, void** extra) {
  Arguments a{.each = params};
  if (extra == nullptr) return a;
  if (params != nullptr) return std::nullopt;
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (i >= 4) return std::nullopt;
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) a.packed = static_cast<const std::byte*>(extra[i + 1]);
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) a.packed_bytes = *static_cast<const std::size_t*>(extra[i + 1]);
  }
  return a;
}

bool is_device_address(Driver& driver, std::uint64_t word) {
  return word != 0 && driver.blocks.find(word) != nullptr;
}

// 8-byte words that are device addresses: pointers inside structures passed by value.
void scan_words(Driver& driver, const std::byte* bytes, std::size_t count, std::vector<Touch>& touches) {
  for (std::size_t at = 0; at + 8 <= count; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    if (is_device_address(driver, word))
      touches.push_back({.address = word, .bytes = 1, .writes = true, .certain = false});
  }
}

// False: the packed buffer is shorter than the parameters.
bool copy_arguments(const Arguments& a, const CUkern_st& kernel, KernelOp& op) {
  op.offsets = packed_offsets(kernel);
  std::size_t total = 0;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) total = op.offsets[i] + kernel.params[i].size_bytes;
  if (a.each == nullptr && a.packed_bytes < total) return false;
  op.bytes.resize(total);
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    std::size_t const size = kernel.params[i].size_bytes;
    const void* const from = a.each != nullptr ? a.each[i] : a.packed + op.offsets[i];
    std::memcpy(op.bytes.data() + op.offsets[i], from, size);
  }
  return true;
}

void note_touches(Driver& driver, const Arguments& a, const CUkern_st& kernel, KernelOp& op) {
  if (a.packed != nullptr && !kernel.params_known) {
    scan_words(driver, a.packed, a.packed_bytes, op.touches);
    return;
  }
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    SoftgpuParam const& param = kernel.params[i];
    const void* const value = kernel.params_known ? op.bytes.data() + op.offsets[i]
                              : a.each != nullptr ? a.each[i]
                                                  : nullptr;
    if (value == nullptr) continue;
    if (param.is_pointer != 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, value, 8);
      if (word != 0) op.touches.push_back({.address = word, .bytes = 1, .writes = true, .certain = true});
    } else {
      scan_words(driver, static_cast<const std::byte*>(value), param.size_bytes, op.touches);
    }
  }
}

CUresult check_shape(const CUkern_st& kernel, const SoftgpuLaunch& l) {
  SoftgpuDim const g = l.grid, b = l.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0) return CUDA_ERROR_INVALID_VALUE;
  if (g.x > 2147483647u || g.y > 65535 || g.z > 65535 || b.x > 1024 || b.y > 1024 || b.z > 64)
    return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t const threads = std::uint64_t{b.x} * b.y * b.z;
  if (threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (threads > static_cast<std::uint64_t>(max_threads(kernel))) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (l.dynamic_shared_bytes != 0 && l.dynamic_shared_bytes > static_cast<std::uint32_t>(max_dynamic_shared(kernel)))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

// All blocks of a cooperative launch are on the device at the same time, or it is refused.
CUresult check_cooperative(const CUkern_st& kernel, const Profile& profile, const SoftgpuLaunch& l) {
  if (l.cooperative == 0) return CUDA_SUCCESS;
  int const threads = static_cast<int>(l.block.x * l.block.y * l.block.z);
  auto const per_sm = static_cast<std::uint64_t>(blocks_per_sm(kernel, profile, threads, l.dynamic_shared_bytes));
  std::uint64_t const blocks = std::uint64_t{l.grid.x} * l.grid.y * l.grid.z;
  return blocks > per_sm * static_cast<std::uint64_t>(profile.sm_count) ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                        : CUDA_SUCCESS;
}

}  // namespace

CUresult prepare_launch(Call& call, CUfunction function, const SoftgpuLaunch& shape, void** params, void** extra,
                        KernelOp* out) {
  CUkernel const kernel = kernel_of(call, function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  auto const arguments = arguments_of(params, extra);
  if (!arguments) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult const wrong = check_shape(*kernel, shape); wrong != CUDA_SUCCESS) return wrong;
  if (CUresult const wrong = check_cooperative(*kernel, *call.driver.config.profile, shape); wrong != CUDA_SUCCESS)
    return wrong;
  if (!call.driver.dry_run && kernel->body == nullptr) {
    say_once(kernel->name, "softgpu",
             "kernel " + kernel->name +
                 " has no CPU body: build one (docs/softgpu.md), or set SOFTGPU_DRY_RUN=1 to skip kernels");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (kernel->launches)
    say_once(
        "launches " + kernel->name, "softgpu",
        "launching from the device is not supported: what kernel " + kernel->name + " launches is skipped with it");
  bool const has_arguments = arguments->each != nullptr || arguments->packed != nullptr;
  if (kernel->params_known && !kernel->params.empty() && !has_arguments) return CUDA_ERROR_INVALID_VALUE;
  KernelOp op{.kernel = kernel, .launch = shape, .function = function};
  if (kernel->params_known && has_arguments && !copy_arguments(*arguments, *kernel, op))
    return CUDA_ERROR_INVALID_VALUE;
  if (arguments->packed != nullptr) op.packed.assign(arguments->packed, arguments->packed + arguments->packed_bytes);
  if (call.driver.checker != nullptr && has_arguments) note_touches(call.driver, *arguments, *kernel, op);
  *out = std::move(op);
  return CUDA_SUCCESS;
}

CUresult apply_attribute(const CUkern_st& kernel, const CUlaunchAttribute& attribute, SoftgpuLaunch& shape) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape.cooperative = attribute.value.cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
      auto const& c = attribute.value.clusterDim;
      return check_cluster(kernel, shape, {c.x, c.y, c.z});
    }
    default: return static_cast<CUresult>(softgpu_not_supported("a launch attribute of cuLaunchKernelEx"));
  }
}

std::vector<std::uint32_t> packed_offsets(const CUkern_st& kernel) {
  std::vector<std::uint32_t> offsets;
  std::uint64_t at = 0;
  for (SoftgpuParam const& p : kernel.params) {
    at = round_up(at, std::max<std::uint64_t>(1, p.align_bytes));
    offsets.push_back(static_cast<std::uint32_t>(at));
    at += p.size_bytes;
  }
  return offsets;
}

}  // namespace tidemark::softgpu

namespace {

CUresult launch(CUfunction function, SoftgpuLaunch shape, CUstream handle, void** params, void** extra,
                std::span<const CUlaunchAttribute> attributes = {}) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->context != call.context) return CUDA_ERROR_INVALID_HANDLE;
    for (CUlaunchAttribute const& attribute : attributes) {
      CUkernel const kernel = kernel_of(call, function);
      if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (CUresult const refused = apply_attribute(*kernel, attribute, shape); refused != CUDA_SUCCESS) return refused;
    }
    fault_slow(call.driver, SlowCall::LaunchKernel);
    KernelOp op;
    if (CUresult const wrong = prepare_launch(call, function, shape, params, extra, &op); wrong != CUDA_SUCCESS)
      return wrong;
    // Of a graph's kernels each launch counts, not the capture.
    if (!is_capturing(stream)) op.fault = fault_launch(call.driver);
    return issue(call, stream, std::move(op));
  });
}

}  // namespace

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared, CUstream stream, void** params, void** extra) {
  return launch(f, {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared_bytes = shared, .cooperative = 0},
                stream, params, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
  if (config == nullptr || (config->attrs == nullptr && config->numAttrs != 0)) return CUDA_ERROR_INVALID_VALUE;
  SoftgpuLaunch const shape{.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                            .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                            .dynamic_shared_bytes = config->sharedMemBytes,
                            .cooperative = 0};
  return launch(f, shape, config->hStream, params, extra, {config->attrs, config->numAttrs});
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                           unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params) {
  return launch(f, {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared_bytes = shared, .cooperative = 1},
                stream, params, nullptr);
}
