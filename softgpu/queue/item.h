// SPDX-License-Identifier: Apache-2.0
// An item of queued work and the ticket that tells when it is done.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/ref.h"
#include "softgpu/interface/observe.h"
#include "softgpu/queue/clock.h"

namespace tidemark::softgpu {

class Stream;

// Work that is certain to come before: for each stream (by id) the number of its newest such item.
using Knowledge = std::map<std::uint64_t, std::uint64_t>;

// Shared by the queue, events and whoever waits; fields are written under the engine's lock.
// executed: the effect has happened. done for the host: executed and device time has passed `finish`.
struct Ticket : Counted {
  Stream* stream = nullptr;  // while not executed
  bool executed = false;
  Nanos start = 0;
  Nanos finish = 0;
  std::uint64_t stream_id = 0;
  std::uint64_t sequence = 0;                  // from 1, in its stream
  std::shared_ptr<const Knowledge> knowledge;  // of its stream when it was queued
};

enum class ItemKind : std::uint8_t { Kernel, Copy, Set, Host, Marker, Memory, Graph };

// One range that the item will touch, with the generations that the host saw in it when it was queued.
struct Touch {
  std::uintptr_t address = 0;
  std::uint64_t bytes = 1;
  bool writes = false;
  bool certain = true;  // surely a pointer that will be used (a copy's operand, a pointer parameter)
  std::uint64_t first_generation = 0;
  std::uint64_t last_generation = 0;
  std::uint64_t blocks_inside = 0;  // a sum over the blocks between the ends, 0 where the ends are one block's
};

// What the checker needs to name the work in a report; absent unless checking.
struct Provenance {
  std::vector<Touch> touches;
  std::vector<void*> call_stack;
};

struct Item {
  ItemKind kind = ItemKind::Marker;
  const char* name = "";           // stays alive
  std::function<int()> run;        // gives a CUresult; called once, without the lock unless run_locked
  bool run_locked = false;         // short book-keeping that needs the lock
  bool run_always = false;         // a host function that is called even when the context has failed
  std::function<int()> precheck;   // asked under the lock right before run; an error keeps it from running
  std::function<bool()> ready;     // extra condition (a value in memory); asked under the lock
  std::vector<Ref<Ticket>> waits;  // besides the order of its stream
  Ref<Ticket> ticket;
  Nanos submitted = 0;
  std::unique_ptr<Provenance> provenance;
  std::unique_ptr<SoftgpuWorkEvent> observed;  // what an observer will hear of it; absent unless there is one
};

}  // namespace tidemark::softgpu
