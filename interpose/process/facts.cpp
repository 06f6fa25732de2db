// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "interpose/order/order.h"
#include "interpose/process/json_array.h"
#include "interpose/real/driver.h"

namespace tidemark::interpose {
namespace {

// What decides how memory is allocated, and nothing else: a trace is passed on, and an environment has secrets in it.
constexpr std::array kOwnPrefixes{"TIDEMARK_", "SOFTGPU_"};
constexpr std::array kVariables{"CUBLASLT_WORKSPACE_SIZE",
                                "CUBLAS_WORKSPACE_CONFIG",
                                "CUDA_DEVICE_MAX_CONNECTIONS",
                                "CUDA_DEVICE_ORDER",
                                "CUDA_LAUNCH_BLOCKING",
                                "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
                                "CUDA_MODULE_LOADING",
                                "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                "CUDA_VISIBLE_DEVICES",
                                "LOCAL_RANK",
                                "NCCL_BUFFSIZE",
                                "NCCL_CUMEM_ENABLE",
                                "NCCL_MAX_NCHANNELS",
                                "NVTX_INJECTION64_PATH",
                                "PYTORCH_ALLOC_CONF",
                                "PYTORCH_CUDA_ALLOC_CONF",
                                "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                "RANK",
                                "TF_FORCE_GPU_ALLOW_GROWTH",
                                "TF_GPU_ALLOCATOR",
                                "WORLD_SIZE",
                                "XLA_PYTHON_CLIENT_ALLOCATOR",
                                "XLA_PYTHON_CLIENT_MEM_FRACTION",
                                "XLA_PYTHON_CLIENT_PREALLOCATE"};

bool matters(std::string_view name) {
  auto const own = [&](const char* prefix) { return name.starts_with(prefix); };
  return std::any_of(kOwnPrefixes.begin(), kOwnPrefixes.end(), own) ||
         std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end();
}

std::string read_file(const char* path) {
  std::string text;
  int const file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(file);
  return text;
}

void write_environment(trace::Dictionary& names) {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    char* const equals = strchr(*at, '=');
    if (equals == nullptr || !matters({*at, equals})) continue;
    names.fact("environment." + std::string(*at, equals), equals + 1);
  }
}

}  // namespace

void write_process_facts(trace::Dictionary& names, const Options& options, trace::Mode mode) {
  names.fact("tidemark.version", TIDEMARK_VERSION);
  names.fact("program.command", json_array(read_file("/proc/self/cmdline")));
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) != nullptr) names.fact("program.cwd", folder);
  names.fact("mode", mode == trace::Mode::Cache ? "cache" : "observe");
  if (!options.run.empty()) names.fact("run", options.run);
  if (options.limit_bytes != 0) names.fact("limit_bytes", std::to_string(options.limit_bytes));
  int version = 0;
  if (call(&Driver::cuDriverGetVersion, &version) == CUDA_SUCCESS)
    names.fact("driver.version", std::to_string(version));
  if (const char* const name = order::unknown_function()) names.fact("unknown_function", name);
  write_environment(names);
}

}  // namespace tidemark::interpose
