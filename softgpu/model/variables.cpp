// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/variables.h"

#include <array>

namespace tidemark::softgpu {
namespace {

constexpr std::string_view kPrefix = "SOFTGPU_";
constexpr std::array<std::string_view, 18> kKnown = {
    "SOFTGPU_BLAS_THREADS",   "SOFTGPU_CHECK",    "SOFTGPU_CLOCK",   "SOFTGPU_CONTEXT", "SOFTGPU_DEVICES",
    "SOFTGPU_DRIVER_VERSION", "SOFTGPU_DRY_COPY", "SOFTGPU_DRY_RUN", "SOFTGPU_FAULT",   "SOFTGPU_KERNELS",
    "SOFTGPU_KERNEL_TIME",    "SOFTGPU_MEMORY",   "SOFTGPU_PROFILE", "SOFTGPU_QUIET",   "SOFTGPU_SCHEDULE",
    "SOFTGPU_SHARE",          "SOFTGPU_STACK",    "SOFTGPU_WORKERS"};

}  // namespace

std::span<const std::string_view> known_variables() {
  return kKnown;
}

std::vector<UnknownVariable> unknown_variables(const char* const* environment) {
  return tidemark::unknown_variables(environment, kPrefix, kKnown);
}

}  // namespace tidemark::softgpu
