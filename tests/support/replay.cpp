// SPDX-License-Identifier: Apache-2.0
#include "tests/support/replay.h"

#include <algorithm>
#include <sstream>

#include "base/bytes.h"

namespace tidemark::test {

using trace::Class;
using trace::Event;

std::vector<Event> ordered_events(const trace::Trace& trace) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < trace.event_chunks(); ++i) trace.decode_chunk(i, events);
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.ticks != b.ticks) return a.ticks < b.ticks;
    return a.type == Event::Type::Free && b.type == Event::Type::Alloc;
  });
  return events;
}

void Replay::complain(const char* what, const Event& e) {
  std::ostringstream text;
  text << what << ": " << trace::name(e.block_class) << " " << std::hex << e.address << std::dec << ", " << e.size_bytes
       << " bytes, thread " << e.context.thread << ", step " << e.context.step << ", ticks " << e.ticks;
  impossible_.push_back(text.str());
}

void Replay::apply(const Event& e) {
  auto& blocks = blocks_[static_cast<std::size_t>(trace::space_of(e.block_class))];
  switch (e.type) {
    case Event::Type::Alloc: {
      ++allocations_;
      Block const block{e.size_bytes, e.block_class, e.context.device};
      if (!blocks.emplace(e.address, block).second) return complain("live twice", e);
      Sum& sum = live_[{block.block_class, block.device}];
      ++sum.blocks;
      sum.bytes += e.size_bytes;
      if (trace::on_device(e.block_class)) on_device_bytes_ += round_up(e.size_bytes, 512);
      peak_bytes_ = std::max(peak_bytes_, on_device_bytes_);
      break;
    }
    case Event::Type::Free: {
      ++frees_;
      auto const found = blocks.find(e.address);
      if (found == blocks.end()) return complain("freed but not live", e);
      Block const block = found->second;
      if (block.block_class != e.block_class) complain("freed as another class", e);
      Sum& sum = live_[{block.block_class, block.device}];
      --sum.blocks;
      sum.bytes -= block.bytes;
      if (trace::on_device(block.block_class)) on_device_bytes_ -= round_up(block.bytes, 512);
      blocks.erase(found);
      break;
    }
    case Event::Type::DeviceUse:
      if (e.source == trace::DeviceUse::Driver) reserved_[e.context.device] = e.address;
      break;
    default: break;
  }
}

Replay::Sum Replay::live(Class block_class, std::uint8_t device) const {
  auto const found = live_.find({block_class, device});
  return found == live_.end() ? Sum{} : found->second;
}

Replay::Sum Replay::live(Class block_class) const {
  Sum all;
  for (auto const& [account, sum] : live_) {
    if (account.first != block_class) continue;
    all.blocks += sum.blocks;
    all.bytes += sum.bytes;
  }
  return all;
}

Replay::Sum Replay::live() const {
  Sum all;
  for (auto const& [account, sum] : live_) {
    all.blocks += sum.blocks;
    all.bytes += sum.bytes;
  }
  return all;
}

std::uint64_t Replay::reserved_bytes(std::uint8_t device) const {
  auto const found = reserved_.find(device);
  return found == reserved_.end() ? 0 : found->second;
}

std::uint64_t Replay::reserved_bytes() const {
  std::uint64_t sum = 0;
  for (auto const& [device, bytes] : reserved_) sum += bytes;
  return sum;
}

Replay replay(const trace::Trace& trace) {
  Replay all;
  for (Event const& event : ordered_events(trace)) all.apply(event);
  return all;
}

}  // namespace tidemark::test
