// SPDX-License-Identifier: Apache-2.0
// The trace of this very process, read while it is being written.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "trace/read/trace.h"

namespace tidemark::doors {

struct OwnTrace {
  std::vector<trace::Event> events;  // allocations and frees, by time
  trace::Totals totals;
  std::map<std::string, std::string> facts;
  std::uint64_t lost = 0;

  using Name = std::pair<trace::Space, std::uint64_t>;
  std::map<Name, trace::Event> live;
  std::string trouble;  // a block that was live twice, or freed without being there

  const trace::Event* find(trace::Space space, std::uint64_t address) const {
    auto const found = live.find({space, address});
    return found == live.end() ? nullptr : &found->second;
  }
  std::uint64_t live_bytes(trace::Class c) const {
    std::uint64_t sum = 0;
    for (auto const& [name, event] : live) sum += event.block_class == c ? event.size_bytes : 0;
    return sum;
  }
};

inline OwnTrace read_own_trace() {
  std::string path = std::getenv("TIDEMARK_OUT");
  path.replace(path.find("%p"), 2, std::to_string(getpid()));
  OwnTrace own;
  auto const trace = trace::Trace::open(path);
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().what;
    return own;
  }
  own.totals = trace->header().totals;
  own.facts = trace->names().facts();
  own.lost = trace->lost_events();
  for (std::size_t i = 0; i < trace->event_chunks(); ++i) trace->decode_chunk(i, own.events);
  std::erase_if(own.events, [](const trace::Event& e) {
    return e.type != trace::Event::Type::Alloc && e.type != trace::Event::Type::Free;
  });
  std::stable_sort(own.events.begin(), own.events.end(),
                   [](const trace::Event& a, const trace::Event& b) { return a.ticks < b.ticks; });
  for (const trace::Event& event : own.events) {
    OwnTrace::Name const name{trace::space_of(event.block_class), event.address};
    bool const allocates = event.type == trace::Event::Type::Alloc;
    if (allocates == own.live.contains(name))
      own.trouble += (allocates ? "twice " : "not there ") + std::to_string(event.address) + "; ";
    if (allocates)
      own.live.insert_or_assign(name, event);
    else
      own.live.erase(name);
  }
  return own;
}

}  // namespace tidemark::doors
