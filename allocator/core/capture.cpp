// SPDX-License-Identifier: Apache-2.0
// What waits for a capture. While one is going on nothing that is freed becomes usable, because no event may be
// recorded or asked for; what was handed out during it belongs to its graphs, which may use it at any launch until they
// are gone.
#include <algorithm>
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

Allocator::Capture* Allocator::capture_of(CaptureId id) {
  auto const found = std::find_if(captures_.begin(), captures_.end(), [&](const Capture& c) { return c.id == id; });
  return found == captures_.end() ? nullptr : &*found;
}

bool Allocator::is_capturing() const {
  return std::any_of(captures_.begin(), captures_.end(), [](const Capture& c) { return c.running; });
}

Allocator::CaptureId Allocator::begin_capture() {
  // A stream that is used for the first time during a capture has to begin behind the first one's end, and then no
  // event may be recorded there.
  if (sole_.load(std::memory_order_acquire) != DomainId::Shared) end_single_order();
  std::lock_guard const guard(capture_lock_);
  CaptureId const id = next_capture_++;
  captures_.push_back({.id = id});
  mode_.fetch_or(kCapture, std::memory_order_seq_cst);
  return id;
}

void Allocator::join_capture(Record& block) {
  std::lock_guard const guard(capture_lock_);
  auto const running = std::find_if(captures_.rbegin(), captures_.rend(), [](const Capture& c) { return c.running; });
  if (running == captures_.rend()) return;
  block.capture = running->id;
  ++running->blocks;
}

// Takes out of held_ what waits for nothing any more. A graph runs in whatever stream launches it: what was its own is
// free in no single stream's order.
std::vector<Allocator::Held> Allocator::let_go() {
  std::vector<Held> free;
  if (is_capturing()) return free;
  std::erase_if(held_, [&](Held& h) {
    Capture* const capture = h.block->capture == 0 ? nullptr : capture_of(h.block->capture);
    if (capture != nullptr && capture->has_graphs) return false;
    if (capture != nullptr) {
      --capture->blocks;
      h = {h.block, DomainId::Shared};
    }
    h.block->capture = 0;
    free.push_back(h);
    return true;
  });
  std::erase_if(captures_, [](const Capture& c) { return !c.running && !c.has_graphs && c.blocks == 0; });
  return free;
}

void Allocator::end_capture(CaptureId capture) {
  std::vector<Held> free;
  {
    std::lock_guard const guard(capture_lock_);
    if (Capture* const c = capture_of(capture)) c->running = false;
    if (!is_capturing()) mode_.fetch_and(~kCapture, std::memory_order_seq_cst);
    free = let_go();
  }
  for (const Held& h : free) keep(*h.block, h.domain);
}

void Allocator::graphs_are_gone(CaptureId capture) {
  std::vector<Held> free;
  {
    std::lock_guard const guard(capture_lock_);
    if (Capture* const c = capture_of(capture)) c->has_graphs = false;
    free = let_go();
  }
  for (const Held& h : free) keep(*h.block, h.domain);
}

void Allocator::hold(Record& block, DomainId domain) {
  std::vector<Held> free;
  {
    std::lock_guard const guard(capture_lock_);
    block.state.store(State::Held, std::memory_order_relaxed);
    held_.push_back({&block, domain});
    free = let_go();
  }
  for (const Held& h : free) keep(*h.block, h.domain);
}

}  // namespace tidemark::allocator
