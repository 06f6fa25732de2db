// SPDX-License-Identifier: Apache-2.0
// A queue of work, and the group of queues that belong to one context and are ordered by its legacy default stream.
// All fields belong to the engine's lock.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "softgpu/queue/item.h"

namespace tidemark::softgpu {

struct StreamGroup;

class Stream {
 public:
  StreamGroup* group = nullptr;
  std::uint64_t id = 0;
  bool blocking = true;      // waits for the legacy default stream, and it for this one
  bool running = false;      // an item of it is being executed
  bool queued = false;       // the engine lists it as having pending items
  std::uint64_t search = 0;  // the engine's newest search that has come by
  Nanos ready_at = 0;        // when the last executed item finishes
  std::deque<Item> pending;
  Ref<Ticket> last;  // the newest item's
  std::uint64_t sequence = 0;
  std::shared_ptr<const Knowledge> knowledge;  // null: of no other stream
};

struct StreamGroup {
  Stream* legacy = nullptr;
  std::vector<Stream*> streams;  // all others
  // The first error of the context's work; a CUresult. Sticky: every later call answers with it.
  int error = 0;
  std::uint64_t id = 0;    // the context's
  int device_ordinal = 0;  // of the context
};

}  // namespace tidemark::softgpu
