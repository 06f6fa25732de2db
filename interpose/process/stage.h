// SPDX-License-Identifier: Apache-2.0
// Whether this process records, answered by one load on every call.
//
//   Idle ──first CUDA call──▶ Recording ──something failed──▶ Passive
//
// The answer lives on a page that the kernel wipes in a forked child: a child forked after the first CUDA call is
// passive at no cost, one forked before starts its own trace at its own first call. Any thread, any time.
#pragma once
#include <atomic>

namespace tidemark::interpose {

enum class Stage : unsigned char { Forked, Starting, Recording, Passive };  // Forked is what a wiped page says

namespace detail {
struct StagePage {
  std::atomic<Stage> stage;
};
extern constinit std::atomic<StagePage*> stage_page;  // null: idle
}  // namespace detail

inline bool recording() {
  detail::StagePage* const page = detail::stage_page.load(std::memory_order_acquire);
  return page != nullptr && page->stage.load(std::memory_order_acquire) == Stage::Recording;
}

// True for the one caller that is to start the recording; it calls started() when that is done. Others wait for it.
bool begin_start();
void started(bool well);
// Everything passes from here on. Says why, once, on stderr.
void go_passive(const char* why);

}  // namespace tidemark::interpose
