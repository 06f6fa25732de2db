// SPDX-License-Identifier: Apache-2.0
// What the events of a chunk come to. The writer adds them up before it uses the chunk again, the reader adds up what
// is still there: both by this, so that they mean the same.
//
// A sink has
//   void sum(const SumRow& row);                                 to be added to the row of the same key
//   StepSum& step(std::uint64_t number);                         the row of a step, to be added to
//   void failure(const Context&, std::uint64_t ticks, const Failure&);
//   void device_use(std::uint64_t ticks, const DeviceUse&);
#pragma once
#include <bit>
#include <cstdint>

#include "trace/format/ring.h"

namespace tidemark::trace {

// A Sum by its words: the first three are its key.
struct SumRow {
  std::uint64_t what = 0, path = 0, step = 0;
  std::uint64_t allocations = 0, requested_bytes = 0, live_bytes = 0;

  std::uint64_t hash() const {
    std::uint64_t h = (what ^ path * 0x9fb21c651e98df25) * 0x9e3779b97f4a7c15;
    h = (h ^ h >> 29 ^ step) * 0xd6e8feb86659fd93;
    return h ^ h >> 32;
  }
  bool same(const SumRow& other) const { return what == other.what && path == other.path && step == other.step; }
  bool nothing() const { return allocations == 0 && requested_bytes == 0 && live_bytes == 0; }
  void add(const SumRow& row) {
    allocations += row.allocations;
    requested_bytes += row.requested_bytes;
    live_bytes += row.live_bytes;
  }
  SumRow negative() const { return {what, path, step, 0 - allocations, 0 - requested_bytes, 0 - live_bytes}; }
  Sum record() const { return std::bit_cast<Sum>(*this); }
  static SumRow of(const Sum& sum) { return std::bit_cast<SumRow>(sum); }
  // One allocation with this key.
  static SumRow one(const Sum& key, std::uint64_t size_bytes) {
    SumRow row = of(key);
    row.allocations = 1;
    row.requested_bytes = size_bytes;
    row.live_bytes = live_bytes_of(size_bytes);
    return row;
  }
};
static_assert(sizeof(SumRow) == sizeof(Sum));

template <class Sink>
class Summing {
 public:
  Summing(Sink& sink, const ChunkHeader& head) : sink_(sink), context_(head.context), base_ticks_(head.base_ticks) {}

  void read(const Slot* begin, const Slot* end) {
    for_each_record(begin, end, [this](const Slot* at, unsigned slots) { apply(at, slots); });
  }

 private:
  void apply(const Slot* at, unsigned slots) {
    switch (tag_of(at->first)) {
      case Tag::Alloc: {
        auto const r = decode<Alloc>(at);
        return allocated(r.block_class, r.generation, r.size_bytes());
      }
      case Tag::AllocLong: {
        auto const r = decode<AllocLong>(at);
        return allocated(r.block_class, r.generation, r.size_bytes);
      }
      case Tag::Free: return freed(decode<Free>(at).block_class);
      case Tag::FreeLong: return freed(decode<FreeLong>(at).block_class);
      case Tag::Relabel:
        if (slots == kSlots<Relabel>) moved(decode<Relabel>(at));
        return;
      case Tag::Failure: {
        auto const r = decode<Failure>(at);
        ++sink_.step(step_of(context_)).failures;
        return sink_.failure(context_, base_ticks_ + r.time, r);
      }
      case Tag::DeviceUse: {
        auto const r = decode<DeviceUse>(at);
        return sink_.device_use(base_ticks_ + r.time, r);
      }
      case Tag::TimeBase: base_ticks_ = decode<TimeBase>(at).ticks; return;
      case Tag::Scope: context_.scope = static_cast<std::uint32_t>(decode<Scope>(at).path); return;
      case Tag::PhaseStart: context_.phase = static_cast<std::uint8_t>(decode<PhaseStart>(at).phase); return;
      case Tag::Step:
        context_.step = decode<Step>(at).step;
        context_.stepped = 1;
        return;
      case Tag::Device: context_.device = static_cast<std::uint8_t>(decode<Device>(at).id); return;
      case Tag::Resume:
        if (slots == kSlots<Resume>) {
          auto const r = decode<Resume>(at);
          context_ = r.context;
          base_ticks_ = r.base_ticks;
        }
        return;
      default: return;
    }
  }

  void allocated(std::uint64_t block_class, std::uint64_t generation, std::uint64_t size_bytes) {
    std::uint64_t const step = step_of(context_);
    SumRow const row = SumRow::one({.block_class = block_class,
                                    .phase = context_.phase,
                                    .device = context_.device,
                                    .served = generation != 0,
                                    .path = context_.scope,
                                    .step = step},
                                   size_bytes);
    sink_.sum(row);
    if (!on_device(static_cast<Class>(block_class))) return;
    StepSum& s = sink_.step(step);
    ++s.allocations;
    s.requested_bytes += row.requested_bytes;
    s.live_bytes += row.live_bytes;
  }

  void freed(std::uint64_t block_class) {
    if (on_device(static_cast<Class>(block_class))) ++sink_.step(step_of(context_)).frees;
  }

  // From one kind to another, wherever the allocation itself is.
  void moved(const Relabel& r) {
    if (r.kind == r.kind_before) return;
    Sum key{.block_class = r.block_class,
            .phase = r.phase,
            .kind = r.kind,
            .device = r.device,
            .served = r.generation != 0,
            .path = r.path,
            .step = r.step};
    sink_.sum(SumRow::one(key, r.size_bytes));
    key.kind = r.kind_before;
    sink_.sum(SumRow::one(key, r.size_bytes).negative());
  }

  Sink& sink_;
  Context context_;
  std::uint64_t base_ticks_;
};

}  // namespace tidemark::trace
