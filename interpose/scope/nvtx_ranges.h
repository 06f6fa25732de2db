// SPDX-License-Identifier: Apache-2.0
// NVTX's ranges as marks of the thread that opens them.
//
// Any thread, also before the first CUDA call: ranges, like all marks, never start a trace. A range that is pushed ends
// on its own thread, in the order of its domain; one that is started belongs to the thread that started it and may be
// ended by any other, after which its thread closes it with its next mark or event.
#pragma once
#include <cstdint>
#include <string_view>

#include "interpose/scope/marks.h"

namespace tidemark::interpose {

// The domain is its handle, 0 for the default one; a library's own domain has ranges that mean nothing.
struct NvtxDomain {
  std::uint64_t id = 0;
  bool is_a_librarys = false;
};
void push_nvtx_range(NvtxDomain domain, std::string_view message);
void pop_nvtx_range(NvtxDomain domain);
// `id` is unique among the started ranges that are open.
void start_nvtx_range(std::uint64_t id, NvtxDomain domain, std::string_view message);
void end_nvtx_range(std::uint64_t id);

// The program counts its steps itself: ranges that look like steps no longer do.
void ignore_nvtx_steps();

// Closes what other threads have ended of this thread's ranges; true when something was closed.
bool settle_nvtx_ranges(Marks& mine);

}  // namespace tidemark::interpose
