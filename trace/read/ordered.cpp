// SPDX-License-Identifier: Apache-2.0
#include "trace/read/ordered.h"

#include <algorithm>

namespace tidemark::trace {
namespace {

// In honest traces the first look or the second one succeeds; a bound keeps the work linear in all others.
constexpr int kTries = 8;
constexpr std::uint64_t kForever = ~std::uint64_t{0};

// Generations run from 1 to 255 and then from 1 again.
constexpr std::uint8_t successor(std::uint8_t generation) {
  return generation == 255 ? 1 : static_cast<std::uint8_t>(generation + 1);
}
constexpr bool older(std::uint8_t a, std::uint8_t b) {
  return static_cast<std::int8_t>(a - b) < 0;
}

std::uint64_t patience_ticks(const FileHeader& h) {
  constexpr std::uint64_t kParts = 1'000'000'000 / Ordered::kPatienceNs;
  if (h.clock != ClockKind::Tsc || h.ticks_per_second < kParts) return Ordered::kPatienceNs;
  return h.ticks_per_second / kParts;
}

}  // namespace

// Handles, reserved and mapped ranges and tensors may have the number of an address that is live as something else.
Ordered::Addresses& Ordered::addresses_of(Class c) {
  switch (c) {
    case Class::Device:
    case Class::Pool:
    case Class::Managed:
    case Class::Pinned:
    case Class::Registered:
    case Class::Imported:
    case Class::Graph: return addresses_[0];
    case Class::Array: return addresses_[1];
    case Class::Physical: return addresses_[2];
    case Class::Reservation: return addresses_[3];
    case Class::Mapping: return addresses_[4];
    case Class::Tensor: return addresses_[5];
  }
  return addresses_[6];  // of a later version
}

// Where the address of a block's event stands; one is made for an allocation.
Ordered::Address* Ordered::address_of(const Event& e) {
  if (e.type == Event::Type::Alloc) return &addresses_of(e.block_class)[e.address];
  if (e.type != Event::Type::Free) return nullptr;
  Addresses& addresses = addresses_of(e.block_class);
  auto const found = addresses.find(e.address);
  return found == addresses.end() ? nullptr : &found->second;
}

// Whether an event can follow what is known of its address. Early: something has to come before it. Never: it is late,
// the address has had later owners.
Ordered::Verdict Ordered::judge(const Event& e, const Address* known) {
  if (e.type == Event::Type::Alloc) {
    if (known->live) return Verdict::Early;
    bool const follows = e.generation == 0 || known->generation == 0 || e.generation == successor(known->generation);
    return follows ? Verdict::Ready : Verdict::Early;
  }
  if (e.type != Event::Type::Free) return Verdict::Ready;
  if (known == nullptr) return Verdict::Early;
  if (e.generation == 0) return known->live ? Verdict::Ready : Verdict::Early;
  if (known->generation == e.generation) return known->live ? Verdict::Ready : Verdict::Never;
  return known->generation != 0 && older(e.generation, known->generation) ? Verdict::Never : Verdict::Early;
}

Ordered::Ordered(const Trace& trace) : trace_(trace), patience_ticks_(patience_ticks(trace.header())) {
  open_lanes();
}

// Chunks belong together by the thread that took them. A thread that goes on in another one's chunk and then takes one
// of its own has two lanes; its stamps keep them in order, microseconds apart as they are.
void Ordered::open_lanes() {
  std::unordered_map<std::uint32_t, std::uint32_t> lane_of;
  for (std::size_t i = 0; i < trace_.event_chunks(); ++i) {
    auto const [found, fresh] =
        lane_of.try_emplace(trace_.chunk_head(i).context.thread, static_cast<std::uint32_t>(lanes_.size()));
    if (fresh) lanes_.emplace_back();
    lanes_[found->second].chunks.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::uint32_t i = 0; i < lanes_.size(); ++i)
    if (advance(lanes_[i])) queue(i);
}

bool Ordered::advance(Lane& lane) {
  lane.tries = 0;
  while (!lane.reader.next(lane.head)) {
    if (lane.next_chunk == lane.chunks.size()) return false;
    lane.reader = trace_.read_chunk(lane.chunks[lane.next_chunk++]);
  }
  lane.ticks = std::max(lane.ticks, lane.head.ticks);
  return true;
}

void Ordered::queue(std::uint32_t lane) {
  Lane const& l = lanes_[lane];
  heads_.push({.ticks = l.ticks, .after_frees = l.head.type != Event::Type::Free, .lane = lane});
}

void Ordered::wait(std::uint32_t lane) {
  Lane& l = lanes_[lane];
  // Stamps of observed blocks are in order: nothing but an equal stamp can be missing.
  std::uint64_t const longest = l.head.generation == 0 ? 0 : patience_ticks_;
  l.deadline = l.ticks > kForever - longest ? kForever : l.ticks + longest;
  deadlines_.emplace(l.deadline, lane);
  waiting_.emplace(l.head.address, lane);
}

void Ordered::wake(std::uint64_t address) {
  auto const [begin, end] = waiting_.equal_range(address);
  for (auto i = begin; i != end; ++i) {
    deadlines_.erase({lanes_[i->second].deadline, i->second});
    queue(i->second);
  }
  waiting_.erase(begin, end);
}

// The lane whose head is next; false at the end. Not patient: its head has waited long enough.
bool Ordered::pick(std::uint32_t& lane, bool& patient) {
  patient = deadlines_.empty() || (!heads_.empty() && heads_.top().ticks <= deadlines_.begin()->first);
  if (!patient) {
    lane = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    auto const [begin, end] = waiting_.equal_range(lanes_[lane].head.address);
    waiting_.erase(std::find_if(begin, end, [&](const auto& w) { return w.second == lane; }));
    return true;
  }
  if (heads_.empty()) return false;
  lane = heads_.top().lane;
  heads_.pop();
  patient = ++lanes_[lane].tries < kTries;
  return true;
}

bool Ordered::next(OrderedEvent& out) {
  std::uint32_t lane = 0;
  bool patient = true;
  while (pick(lane, patient))
    if (take(lane, patient, out)) return true;
  return false;
}

// Whether the lane's head gave something to deliver.
bool Ordered::take(std::uint32_t lane, bool patient, OrderedEvent& out) {
  Lane& l = lanes_[lane];
  Address* const known = address_of(l.head);
  Verdict const verdict = judge(l.head, known);
  if (verdict == Verdict::Early && patient) {
    wait(lane);
    return false;
  }
  now_ = std::max(now_, l.ticks);
  out.event = l.head;
  out.event.ticks = now_;
  if (l.head.type == Event::Type::Alloc && known->live) {
    // Nobody can own an address that is somebody's: the free of the block before is missing. It is delivered here, and
    // the allocation stays for the next call.
    ++oddities_.allocations_of_live;
    known->live = false;
    out.event.type = Event::Type::Free;
    out.block = known->block;
    queue(lane);
    return true;
  }
  bool const delivered = apply(l.head, known, out);
  if (delivered && !waiting_.empty()) wake(l.head.address);
  if (advance(l)) queue(lane);
  return delivered;
}

bool Ordered::apply(const Event& e, Address* known, OrderedEvent& out) {
  switch (e.type) {
    case Event::Type::Alloc:
      *known = {.block = blocks_++, .generation = e.generation, .live = true};
      out.block = known->block;
      return true;
    case Event::Type::Free: return apply_free(e, known, out);
    case Event::Type::Label: return apply_label(e, out);
    default: return true;
  }
}

bool Ordered::apply_free(const Event& e, Address* known, OrderedEvent& out) {
  if (known == nullptr || !known->live || (e.generation != 0 && e.generation != known->generation)) {
    ++oddities_.frees_without_allocation;
    return false;
  }
  known->live = false;
  out.block = known->block;
  return true;
}

// A name that a program has for a block may be that of a tensor, of a block of its own, or of memory mapped there.
bool Ordered::apply_label(const Event& e, OrderedEvent& out) {
  for (Class const c : {Class::Tensor, Class::Device, Class::Mapping}) {
    Addresses const& addresses = addresses_of(c);
    auto const found = addresses.find(e.address);
    if (found == addresses.end() || !found->second.live) continue;
    out.block = found->second.block;
    return true;
  }
  ++oddities_.labels_without_block;
  return false;
}

}  // namespace tidemark::trace
