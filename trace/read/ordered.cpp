// SPDX-License-Identifier: Apache-2.0
#include "trace/read/ordered.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tidemark::trace {
namespace {

// A ring does not know who owned a served address before, unless it was live: then the wait for him is shorter.
constexpr std::uint64_t kShorter = 64;
// In honest traces a head is looked at two or three times; a bound keeps the work linear in all others.
constexpr int kTries = 64;
constexpr std::uint64_t kForever = ~std::uint64_t{0};

// Generations run from 1 to 255 and then from 1 again.
constexpr std::uint8_t predecessor(std::uint8_t generation) {
  return generation == 1 ? 255 : static_cast<std::uint8_t>(generation - 1);
}

// A beginning or an end of an owner of an address, as one number. That two of them share one does no harm: whoever is
// woken looks for itself.
constexpr std::uint64_t happening(std::uint64_t address, std::uint8_t generation, Event::Type type) {
  std::uint64_t const kind = std::uint64_t{generation} << 1 | (type == Event::Type::Free ? 1 : 0);
  return (address ^ kind << 48) * 0x9e3779b97f4a7c15;
}
std::uint64_t patience_ticks(const FileHeader& h) {
  constexpr std::uint64_t kParts = 1'000'000'000 / Ordered::kPatienceNs;
  if (h.clock != ClockKind::Tsc || h.ticks_per_second < kParts) return Ordered::kPatienceNs;
  return h.ticks_per_second / kParts;
}

}  // namespace

Ordered::Addresses& Ordered::addresses_of(Class c) {
  return addresses_[static_cast<std::size_t>(space_of(c))];
}

// Where the address of a block's event stands; one is made for an allocation.
Ordered::Address* Ordered::address_of(const Event& e) {
  if (e.type == Event::Type::Alloc || e.type == Event::Type::Live) return &addresses_of(e.block_class)[e.address];
  if (e.type != Event::Type::Free) return nullptr;
  Addresses& addresses = addresses_of(e.block_class);
  auto const found = addresses.find(e.address);
  return found == addresses.end() ? nullptr : &found->second;
}

// What has to happen before an event can follow what is known of its address; nothing if it can.
std::optional<std::uint64_t> Ordered::awaited_by(const Event& e, const Address* known) {
  if (e.type == Event::Type::Alloc) {
    if (known->live) return happening(e.address, known->owner, Event::Type::Free);
    if (e.generation == 0) return std::nullopt;
    // The owners of a served address are counted from 1: those who are left out are still to come.
    std::uint8_t const before = predecessor(e.generation);
    bool const follows = known->served == 0 ? e.generation == 1 : known->served == before;
    return follows ? std::nullopt : std::optional(happening(e.address, before, Event::Type::Free));
  }
  if (e.type == Event::Type::Free) {
    bool const its_own = known != nullptr && known->live && (e.generation == 0 || e.generation == known->owner);
    return its_own ? std::nullopt : std::optional(happening(e.address, e.generation, Event::Type::Alloc));
  }
  return std::nullopt;
}

Ordered::Ordered(const Trace& trace)
    : trace_(trace), base_(trace.past().base()), patience_ticks_(patience_ticks(trace.header())) {
  if (base_ != nullptr) open_past(trace.past());
  open_lanes();
}

void Ordered::open_past(const Past& past) {
  Lane& lane = lanes_.emplace_back();
  lane.first = past.events();
  // Blocks that came while the checkpoint was taken have their events.
  for (Live const& block : base_->blocks)
    if (block.ticks < base_->begin_ticks) lane.first.push_back(event_of(block));
  find_missed(lane.first);
  std::stable_sort(lane.first.begin(), lane.first.end(),
                   [](const Event& a, const Event& b) { return a.ticks < b.ticks; });
}

// Blocks that a checkpoint missed because a free was under way that failed: a Live says so later.
void Ordered::find_missed(std::vector<Event>& blocks) const {
  std::set<std::tuple<Space, std::uint64_t, std::uint64_t>> seen;
  auto const key = [](const Event& e) { return std::tuple(space_of(e.block_class), e.address, e.start_ticks); };
  for (std::size_t i = 0; i < trace_.event_chunks(); ++i) {
    if (trace_.chunk_head(i).has_live == 0) continue;
    if (seen.empty())
      for (Event const& e : blocks) seen.insert(key(e));
    ChunkReader reader = trace_.read_chunk(i);
    for (Event e; reader.next(e);) {
      if (e.type != Event::Type::Live || e.ticks < base_->begin_ticks || e.start_ticks >= base_->begin_ticks) continue;
      if (!seen.insert(key(e)).second) continue;
      e.ticks = e.start_ticks;
      blocks.push_back(e);
    }
  }
}

// Whether the checkpoint says what came of it.
bool Ordered::in_base(const Event& e) const {
  if (base_ == nullptr || e.ticks >= base_->begin_ticks) return false;
  switch (e.type) {
    case Event::Type::DeviceUse:
    case Event::Type::Failure:
    case Event::Type::Kernel:
    case Event::Type::CacheUse:
    case Event::Type::CacheCounts:
    case Event::Type::Pin:
    case Event::Type::LateFree: return false;
    default: return true;
  }
}

// A block that was freed while the checkpoint was taken may not be in it.
bool Ordered::explained(const Event& e) const {
  return base_ != nullptr && e.ticks <= base_->end_ticks + (e.generation == 0 ? 0 : patience_ticks_);
}

// Chunks belong together by the thread that took them. A thread that goes on in another one's chunk and then takes one
// of its own has two lanes; its stamps keep them in order, microseconds apart as they are.
void Ordered::open_lanes() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> chunks_of;
  for (std::size_t i = 0; i < trace_.event_chunks(); ++i)
    chunks_of[trace_.chunk_head(i).context.thread].push_back(static_cast<std::uint32_t>(i));
  // In the order of threads: equal stamps come out the same wherever in the file a thread's chunks are.
  for (auto& [thread, chunks] : chunks_of) lanes_.emplace_back().chunks = std::move(chunks);
  for (std::uint32_t i = 0; i < lanes_.size(); ++i)
    if (advance(lanes_[i])) queue(i);
}

bool Ordered::next_of(Lane& lane) {
  if (lane.next_first < lane.first.size()) {
    lane.head = lane.first[lane.next_first++];
    return true;
  }
  do {
    while (!lane.reader.next(lane.head)) {
      if (lane.next_chunk == lane.chunks.size()) return false;
      lane.reader = trace_.read_chunk(lane.chunks[lane.next_chunk++]);
    }
  } while (in_base(lane.head));
  return true;
}

bool Ordered::advance(Lane& lane) {
  lane.tries = 0;
  if (!next_of(lane)) return false;
  lane.ticks = std::max(lane.ticks, lane.head.ticks);
  return true;
}

void Ordered::queue(std::uint32_t lane) {
  Lane const& l = lanes_[lane];
  heads_.push({.ticks = l.ticks, .after_frees = l.head.type != Event::Type::Free, .lane = lane});
}

void Ordered::wait(std::uint32_t lane, std::uint64_t awaited) {
  Lane& l = lanes_[lane];
  // Stamps of observed blocks are in order: nothing but an equal stamp can be missing.
  Address const* const known = address_of(l.head);
  bool const unknown = base_ != nullptr && (known == nullptr || known->served == 0);
  std::uint64_t const longest = l.head.generation == 0 ? 0 : unknown ? patience_ticks_ / kShorter : patience_ticks_;
  l.deadline = l.ticks > kForever - longest ? kForever : l.ticks + longest;
  l.awaited = awaited;
  deadlines_.emplace(l.deadline, lane);
  waiting_.emplace(awaited, lane);
}

void Ordered::wake(std::uint64_t awaited) {
  if (waiting_.empty()) return;
  auto const [begin, end] = waiting_.equal_range(awaited);
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
    auto const [begin, end] = waiting_.equal_range(lanes_[lane].awaited);
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
  if (patient)
    if (auto const awaited = awaited_by(l.head, known)) {
      wait(lane, *awaited);
      return false;
    }
  now_ = std::max(now_, l.ticks);
  out.event = l.head;
  out.event.ticks = now_;
  bool const begins = l.head.type == Event::Type::Alloc || l.head.type == Event::Type::Live;
  bool const again = l.head.type == Event::Type::Live && known->live && known->born == l.head.start_ticks;
  if (begins && known->live && !again) {
    // Nobody can own an address that is somebody's: the free of the block before is missing. It is delivered here, and
    // the allocation stays for the next call.
    ++oddities_.allocations_of_live;
    out.event.type = Event::Type::Free;
    end_owner(l.head.address, *known, out);
    queue(lane);
    return true;
  }
  bool const delivered = apply(l.head, known, out);
  if (advance(l)) queue(lane);
  return delivered;
}

bool Ordered::apply(const Event& e, Address* known, OrderedEvent& out) {
  switch (e.type) {
    case Event::Type::Alloc: begin_owner(e, *known, out); return true;
    case Event::Type::Live:
      if (known->live) return false;  // the checkpoint did not miss it
      begin_owner(e, *known, out);
      return true;
    case Event::Type::Free:
      if (awaited_by(e, known)) {
        if (!explained(e)) ++oddities_.frees_without_allocation;
        return false;
      }
      end_owner(e.address, *known, out);
      return true;
    case Event::Type::Label: return apply_label(e, out);
    default: return true;
  }
}

void Ordered::begin_owner(const Event& e, Address& known, OrderedEvent& out) {
  known.block = out.block = blocks_++;
  known.born = e.type == Event::Type::Live ? e.start_ticks : e.ticks;
  known.owner = e.generation;
  if (e.generation != 0) known.served = e.generation;
  known.live = true;
  wake(happening(e.address, e.generation, Event::Type::Alloc));
  // A free that bears no generation is of whoever is there.
  if (e.generation != 0) wake(happening(e.address, 0, Event::Type::Alloc));
}

void Ordered::end_owner(std::uint64_t address, Address& known, OrderedEvent& out) {
  out.block = known.block;
  known.live = false;
  wake(happening(address, known.owner, Event::Type::Free));
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
  if (!explained(e)) ++oddities_.labels_without_block;
  return false;
}

}  // namespace tidemark::trace
