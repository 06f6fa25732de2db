// SPDX-License-Identifier: Apache-2.0
#include "trace/read/event.h"

namespace tidemark::trace {
namespace {

using Type = Event::Type;

// What a record itself says. Everything else in the event is its context's.
template <class R>
void fill_block(Event& e, Type type, const R& r, std::uint64_t address) {
  e.type = type;
  e.ticks = r.time;
  e.block_class = static_cast<Class>(r.block_class);
  e.generation = static_cast<std::uint8_t>(r.generation);
  e.address = address;
}
void fill(Event& e, const Alloc& r) {
  fill_block(e, Type::Alloc, r, r.address());
  e.size_bytes = r.size_bytes();
}
void fill(Event& e, const Free& r) {
  fill_block(e, Type::Free, r, r.address());
}
void fill(Event& e, const AllocLong& r) {
  fill_block(e, Type::Alloc, r, r.address);
  e.size_bytes = r.size_bytes;
  e.other = r.parent;
}
void fill(Event& e, const FreeLong& r) {
  fill_block(e, Type::Free, r, r.address);
}
void fill(Event& e, const Scope& r) {
  e.type = Type::Scope;
  e.ticks = r.time;
}
void fill(Event& e, const PhaseStart& r) {
  e.type = Type::Phase;
  e.ticks = r.time;
}
void fill(Event& e, const Step& r) {
  e.type = Type::Step;
  e.ticks = r.time;
}
void fill(Event& e, const Label& r) {
  e.type = Type::Label;
  e.ticks = r.time;
  e.kind = static_cast<Kind>(r.kind);
  e.address = r.address();
  e.name = r.name();
}
void fill(Event& e, const Relabel& r) {
  e.type = Type::Label;
  e.ticks = r.time;
  e.kind = static_cast<Kind>(r.kind);
  e.address = r.address;
  e.name = static_cast<std::uint32_t>(r.name);
}
void fill(Event& e, const DeviceUse& r) {
  e.type = Type::DeviceUse;
  e.ticks = r.time;
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.source = static_cast<std::uint8_t>(r.source);
  e.size_bytes = r.used_bytes;
  e.other = r.total_bytes;
  e.address = r.process_bytes;
}
void fill(Event& e, const Failure& r) {
  e.type = Type::Failure;
  e.ticks = r.time;
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.block_class = static_cast<Class>(r.block_class);
  e.error = static_cast<std::uint16_t>(r.error);
  e.size_bytes = r.size_bytes;
  e.other = r.free_bytes;
  e.name = static_cast<std::uint32_t>(r.text);
}
void fill(Event& e, const Kernel& r) {
  e.type = Type::Kernel;
  e.ticks = r.time;
  e.source = static_cast<std::uint8_t>(r.unscoped);
  e.name = static_cast<std::uint32_t>(r.name);
  e.address = r.stream;
  e.other = r.duration_ns;
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.context.scope = static_cast<std::uint32_t>(r.path);
  e.context.phase = static_cast<std::uint8_t>(r.phase);
  e.context.step = r.step;
  e.context.stream = e.context.stack = 0;
}

// Four numbers of a cache.
template <class R>
void fill_cache(Event& e, Type type, const R& r, const std::array<std::uint64_t, 4>& numbers) {
  e.type = type;
  e.ticks = r.time;
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.generation = static_cast<std::uint8_t>(r.cache);
  e.address = numbers[0];
  e.size_bytes = numbers[1];
  e.other = numbers[2];
  e.start_ticks = numbers[3];
}
void fill(Event& e, const CacheUse& r) {
  fill_cache(e, Type::CacheUse, r, {r.live_bytes, r.requested_bytes, r.reserved_bytes, r.largest_hole_bytes});
}
void fill(Event& e, const CacheCounts& r) {
  fill_cache(e, Type::CacheCounts, r, {r.plan_hits, r.plan_misses, r.waits_avoided, r.given_back_bytes});
}
void fill(Event& e, const Pin& r) {
  fill_cache(e, Type::Pin, r, {r.address, r.before_bytes, r.after_bytes, r.given_back_bytes});
}

void fill(Event& e, const LateFree& r) {
  e.type = Type::LateFree;
  e.ticks = r.time;
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.source = static_cast<std::uint8_t>(r.by);
  e.name = static_cast<std::uint32_t>(r.used_path);
  e.address = r.address;
  e.size_bytes = r.size_bytes;
  e.other = r.freed_stream;
  e.start_ticks = r.used_stream;
}

}  // namespace

Event event_of(const Live& r) {
  Event e;
  e.type = Type::Live;
  e.ticks = e.start_ticks = r.ticks;
  e.block_class = static_cast<Class>(r.block_class);
  e.kind = static_cast<Kind>(r.kind);
  e.generation = static_cast<std::uint8_t>(r.generation);
  e.name = static_cast<std::uint32_t>(r.name);
  e.address = r.address;
  e.size_bytes = r.size_bytes;
  e.other = r.parent;
  e.context.scope = static_cast<std::uint32_t>(r.path);
  e.context.stream = static_cast<std::uint32_t>(r.stream);
  e.context.stack = static_cast<std::uint32_t>(r.stack);
  e.context.phase = static_cast<std::uint8_t>(r.phase);
  e.context.device = static_cast<std::uint8_t>(r.device);
  e.context.stepped = r.step != kNoStep;
  if (r.step != kNoStep) e.context.step = r.step;
  return e;
}

// Whether the record is an event; the others only change the context.
bool ChunkReader::apply(const Slot* at, unsigned slots, Event& out) {
  auto const event = [&](const auto& record) {
    out = Event{.context = context_};
    fill(out, record);
    out.ticks += base_;
    return true;
  };
  switch (tag_of(at->first)) {
    case Tag::Alloc: return event(decode<Alloc>(at));
    case Tag::Free: return event(decode<Free>(at));
    case Tag::AllocLong: return event(decode<AllocLong>(at));
    case Tag::FreeLong: return event(decode<FreeLong>(at));
    case Tag::Label: return event(decode<Label>(at));
    case Tag::Relabel: return slots == kSlots<Relabel> && event(decode<Relabel>(at));
    case Tag::Live:
      if (slots != kSlots<Live>) return false;
      out = event_of(decode<Live>(at));
      out.ticks = base_;
      out.context.thread = context_.thread;
      return true;
    case Tag::DeviceUse: return event(decode<DeviceUse>(at));
    case Tag::Failure: return event(decode<Failure>(at));
    case Tag::CacheUse: return slots == kSlots<CacheUse> && event(decode<CacheUse>(at));
    case Tag::CacheCounts: return slots == kSlots<CacheCounts> && event(decode<CacheCounts>(at));
    case Tag::Pin: return slots == kSlots<Pin> && event(decode<Pin>(at));
    case Tag::LateFree: return slots == kSlots<LateFree> && event(decode<LateFree>(at));
    case Tag::Kernel:
      event(decode<Kernel>(at));
      out.start_ticks = out.ticks;
      return true;
    case Tag::Scope: {
      auto const r = decode<Scope>(at);
      context_.scope = static_cast<std::uint32_t>(r.path);
      return event(r);
    }
    case Tag::PhaseStart: {
      auto const r = decode<PhaseStart>(at);
      context_.phase = static_cast<std::uint8_t>(r.phase);
      return event(r);
    }
    case Tag::Step: {
      auto const r = decode<Step>(at);
      context_.step = r.step;
      context_.stepped = 1;
      return event(r);
    }
    case Tag::TimeBase: base_ = decode<TimeBase>(at).ticks; return false;
    case Tag::Stream: context_.stream = static_cast<std::uint32_t>(decode<Stream>(at).id); return false;
    case Tag::Stack: context_.stack = static_cast<std::uint32_t>(decode<Stack>(at).id); return false;
    case Tag::Device: context_.device = static_cast<std::uint8_t>(decode<Device>(at).id); return false;
    case Tag::Resume:
      if (slots == kSlots<Resume>) {
        auto const r = decode<Resume>(at);
        context_ = r.context;
        base_ = r.base_ticks;
      }
      return false;
    default: return false;  // of a later version
  }
}

bool ChunkReader::next(Event& out) {
  while (unsigned const slots = record_at(at_, end_)) {
    const Slot* const here = at_;
    at_ += slots;
    if (apply(here, slots, out)) return true;
  }
  return false;
}

}  // namespace tidemark::trace
