// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/stage.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <new>

#include "base/log.h"

namespace tidemark::interpose {

constinit std::atomic<detail::StagePage*> detail::stage_page{nullptr};

namespace {

using detail::stage_page;
using detail::StagePage;

constexpr std::size_t kPage = 4096;

void in_child() {
  stage_page.load()->stage.store(Stage::Forked);
}

StagePage* make_page() {
  void* const at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const page = new (at) StagePage{Stage::Starting};
  // Kernels before 4.14 cannot; a handler misses children of a bare clone(), which CUDA does not survive either.
  if (madvise(at, kPage, MADV_WIPEONFORK) != 0) pthread_atfork(nullptr, nullptr, in_child);
  return page;
}

}  // namespace

bool begin_start() {
  StagePage* page = stage_page.load(std::memory_order_acquire);
  if (page == nullptr) {
    StagePage* const fresh = make_page();
    if (fresh == nullptr) return false;
    if (stage_page.compare_exchange_strong(page, fresh, std::memory_order_acq_rel)) return true;
    munmap(fresh, kPage);
  }
  while (page->stage.load(std::memory_order_acquire) == Stage::Starting) sched_yield();
  return false;
}

void started(bool well) {
  Stage expected = Stage::Starting;
  stage_page.load()->stage.compare_exchange_strong(expected, well ? Stage::Recording : Stage::Passive,
                                                   std::memory_order_acq_rel);
}

void go_passive(const char* why) {
  StagePage* const page = stage_page.load(std::memory_order_acquire);
  if (page == nullptr || page->stage.exchange(Stage::Passive, std::memory_order_acq_rel) == Stage::Passive) return;
  say("tidemark", why);
}

}  // namespace tidemark::interpose
