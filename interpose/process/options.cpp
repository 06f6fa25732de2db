// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/options.h"

#include <array>

#include "base/bytes.h"
#include "base/env.h"

namespace tidemark::interpose {
namespace {

Result<trace::Mode> read_mode() {
  std::string const text = env_text("TIDEMARK_MODE").value_or("auto");
  if (text == "auto" || text == "observe") return trace::Mode::Observe;
  return Error{Errc::InvalidArgument, "TIDEMARK_MODE: not a mode: '" + text + "'", "write auto or observe"};
}

Result<CuptiUse> read_cupti() {
  std::string const text = env_text("TIDEMARK_CUPTI").value_or("0");
  if (text == "0") return CuptiUse::Off;
  if (text == "1") return CuptiUse::On;
  if (text == "auto") return CuptiUse::Auto;
  return Error{Errc::InvalidArgument, "TIDEMARK_CUPTI: not a choice: '" + text + "'", "write 1, 0 or auto"};
}

// What the usual launchers call a process's number among its siblings.
std::string rank() {
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK"})
    if (auto text = env_text(name)) return *text;
  return "0";
}

Result<std::uint64_t> read_ring() {
  TIDEMARK_TRY(Bytes const ring, env_bytes("TIDEMARK_RING", {}));
  if (ring.n == 0 || (ring.n >= trace::kSmallestRing && ring.n <= trace::kLargestRing)) return ring.n;
  return Error{Errc::InvalidArgument, "TIDEMARK_RING: a trace of " + format_bytes(ring) + " is not possible",
               "from " + format_bytes({trace::kSmallestRing}) + " to " + format_bytes({trace::kLargestRing})};
}

}  // namespace

Result<Options> Options::from_environment() {
  Options options;
  options.out = env_text("TIDEMARK_OUT").value_or(options.out);
  options.run = env_text("TIDEMARK_RUN").value_or("");
  options.list = env_text("TIDEMARK_RUN_LIST").value_or("");
  TIDEMARK_TRY(options.mode, read_mode());
  TIDEMARK_TRY(Bytes const limit, env_bytes("TIDEMARK_LIMIT", {}));
  TIDEMARK_TRY(options.ring_bytes, read_ring());
  TIDEMARK_TRY(options.cupti, read_cupti());
  TIDEMARK_TRY(options.stacks, env_flag("TIDEMARK_STACKS", false));
  TIDEMARK_TRY(options.summary, env_flag("TIDEMARK_SUMMARY", true));
  options.limit_bytes = limit.n;
  return options;
}

std::span<const std::string_view> known_variables() {
  // The last ones are of the build and of its tests, whose programs are recorded too.
  static constexpr std::array<std::string_view, 14> kKnown{
      "TIDEMARK_OUT",  "TIDEMARK_MODE",       "TIDEMARK_LIMIT",  "TIDEMARK_STACKS",   "TIDEMARK_RING",
      "TIDEMARK_NVTX", "TIDEMARK_NVTX_CHAIN", "TIDEMARK_CUPTI",  "TIDEMARK_RUN",      "TIDEMARK_RUN_LIST",
      "TIDEMARK_JOBS", "TIDEMARK_SUMMARY",    "TIDEMARK_TESTED", "TIDEMARK_CUDA_ROOT"};
  return kKnown;
}

std::string expand_path(const std::string& pattern, std::uint32_t pid) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char const next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'p': path += std::to_string(pid); break;
      case 'r': path += rank(); break;
      case '%': path += '%'; break;
      default: path += pattern[i]; continue;
    }
    ++i;
  }
  return path;
}

std::string with_suffix(const std::string& path, std::uint64_t number) {
  std::size_t const slash = path.rfind('/');
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot <= slash + 1) || dot == 0) dot = path.size();
  return path.substr(0, dot) + "-" + std::to_string(number) + path.substr(dot);
}

}  // namespace tidemark::interpose
