// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/options.h"

#include <array>
#include <initializer_list>
#include <utility>

#include "base/bytes.h"
#include "base/env.h"

namespace tidemark::interpose {
namespace {

template <class Choice>
Result<Choice> read_choice(const char* name, std::initializer_list<std::pair<const char*, Choice>> choices) {
  std::string const text = env_text(name).value_or(choices.begin()->first);
  std::string all;
  for (auto const& [word, choice] : choices) {
    if (text == word) return choice;
    all += std::string(all.empty() ? "write " : ", ") + word;
  }
  return Error{Errc::InvalidArgument, std::string(name) + ": not a choice: '" + text + "'", all};
}

Result<ModeChoice> read_mode() {
  return read_choice<ModeChoice>(
      "TIDEMARK_MODE", {{"auto", ModeChoice::Auto}, {"cache", ModeChoice::Cache}, {"observe", ModeChoice::Observe}});
}

Result<FreeChoice> read_free() {
  return read_choice<FreeChoice>(
      "TIDEMARK_FREE", {{"auto", FreeChoice::Auto}, {"strict", FreeChoice::Strict}, {"lazy", FreeChoice::Lazy}});
}

Result<CuptiUse> read_cupti() {
  return read_choice<CuptiUse>("TIDEMARK_CUPTI", {{"0", CuptiUse::Off}, {"1", CuptiUse::On}, {"auto", CuptiUse::Auto}});
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
  TIDEMARK_TRY(options.free, read_free());
  TIDEMARK_TRY(Bytes const limit, env_bytes("TIDEMARK_LIMIT", {}));
  TIDEMARK_TRY(options.ring_bytes, read_ring());
  TIDEMARK_TRY(options.cupti, read_cupti());
  TIDEMARK_TRY(options.cache, CacheOptions::from_environment());
  TIDEMARK_TRY(options.stacks, env_flag("TIDEMARK_STACKS", false));
  TIDEMARK_TRY(options.summary, env_flag("TIDEMARK_SUMMARY", true));
  options.limit_bytes = limit.n;
  return options;
}

ModeChoice mode_in_environment() {
  auto const mode = read_mode();
  auto const cache = CacheOptions::from_environment();
  return mode.ok() && cache.ok() && !cache->whole_blocks ? *mode : ModeChoice::Observe;
}

std::span<const std::string_view> known_variables() {
  // The last ones are of the build and of its tests, whose programs are recorded too.
  static constexpr std::array<std::string_view, 21> kKnown{
      "TIDEMARK_OUT",          "TIDEMARK_MODE",      "TIDEMARK_FREE",       "TIDEMARK_LIMIT",   "TIDEMARK_STACKS",
      "TIDEMARK_RING",         "TIDEMARK_NVTX",      "TIDEMARK_NVTX_CHAIN", "TIDEMARK_CUPTI",   "TIDEMARK_RUN",
      "TIDEMARK_ROUND",        "TIDEMARK_CACHE_CAP", "TIDEMARK_TRIM_AFTER", "TIDEMARK_POISON",  "TIDEMARK_CHECK_FREES",
      "TIDEMARK_WHOLE_BLOCKS", "TIDEMARK_RUN_LIST",  "TIDEMARK_JOBS",       "TIDEMARK_SUMMARY", "TIDEMARK_TESTED",
      "TIDEMARK_CUDA_ROOT"};
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
