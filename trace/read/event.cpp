// SPDX-License-Identifier: Apache-2.0
#include "trace/read/event.h"

namespace tidemark::trace {
namespace {

class Decoder {
 public:
  Decoder(const ChunkHeader& head, std::vector<Event>& out)
      : context_(head.context), base_(head.base_ticks), out_(out) {}

  void apply(const Slot* at, unsigned slots) {
    switch (tag_of(at->first)) {
      case Tag::Alloc: on(decode<Alloc>(at)); break;
      case Tag::Free: on(decode<Free>(at)); break;
      case Tag::AllocLong: on(decode<AllocLong>(at)); break;
      case Tag::FreeLong: on(decode<FreeLong>(at)); break;
      case Tag::TimeBase: base_ = decode<TimeBase>(at).ticks; break;
      case Tag::Scope: on(decode<Scope>(at)); break;
      case Tag::PhaseStart: on(decode<PhaseStart>(at)); break;
      case Tag::Step: on(decode<Step>(at)); break;
      case Tag::Stream: context_.stream = static_cast<std::uint32_t>(decode<Stream>(at).id); break;
      case Tag::Stack: context_.stack = static_cast<std::uint32_t>(decode<Stack>(at).id); break;
      case Tag::Device: context_.device = static_cast<std::uint8_t>(decode<Device>(at).id); break;
      case Tag::Label: on(decode<Label>(at)); break;
      case Tag::DeviceUse: on(decode<DeviceUse>(at)); break;
      case Tag::Failure: on(decode<Failure>(at)); break;
      case Tag::Resume:
        if (slots == kSlots<Resume>) on(decode<Resume>(at));
        break;
      default: break;  // of a later version
    }
  }

 private:
  using Type = Event::Type;

  template <class R>
  static R decode(const Slot* at) {
    return trace::decode<R>(at);
  }
  Event& add(Type type, std::uint64_t time) {
    Event& e = out_.emplace_back();
    e.type = type;
    e.ticks = base_ + time;
    e.context = context_;
    return e;
  }
  template <class R>
  Event& add_block(Type type, const R& r, std::uint64_t address) {
    Event& e = add(type, r.time);
    e.block_class = static_cast<Class>(r.block_class);
    e.generation = static_cast<std::uint8_t>(r.generation);
    e.address = address;
    return e;
  }

  void on(const Alloc& r) { add_block(Type::Alloc, r, r.address()).size_bytes = r.size_bytes(); }
  void on(const Free& r) { add_block(Type::Free, r, r.address()); }
  void on(const AllocLong& r) {
    Event& e = add_block(Type::Alloc, r, r.address);
    e.size_bytes = r.size_bytes;
    e.other = r.parent;
  }
  void on(const FreeLong& r) { add_block(Type::Free, r, r.address); }
  void on(const Scope& r) {
    context_.scope = static_cast<std::uint32_t>(r.path);
    add(Type::Scope, r.time);
  }
  void on(const PhaseStart& r) {
    context_.phase = static_cast<std::uint8_t>(r.phase);
    add(Type::Phase, r.time);
  }
  void on(const Step& r) {
    context_.step = r.step;
    add(Type::Step, r.time);
  }
  void on(const Label& r) {
    Event& e = add(Type::Label, r.time);
    e.kind = static_cast<Kind>(r.kind);
    e.address = r.address();
    e.name = r.name();
  }
  void on(const DeviceUse& r) {
    Event& e = add(Type::DeviceUse, r.time);
    e.context.device = static_cast<std::uint8_t>(r.device);
    e.source = static_cast<std::uint8_t>(r.source);
    e.size_bytes = r.used_bytes;
    e.other = r.total_bytes;
  }
  void on(const Failure& r) {
    Event& e = add(Type::Failure, r.time);
    e.context.device = static_cast<std::uint8_t>(r.device);
    e.block_class = static_cast<Class>(r.block_class);
    e.error = static_cast<std::uint16_t>(r.error);
    e.size_bytes = r.size_bytes;
    e.other = r.free_bytes;
    e.name = static_cast<std::uint32_t>(r.text);
  }
  void on(const Resume& r) {
    context_ = r.context;
    base_ = r.base_ticks;
  }

  Context context_;
  std::uint64_t base_;
  std::vector<Event>& out_;
};

}  // namespace

void decode(const ChunkHeader& head, const Slot* begin, const Slot* end, std::vector<Event>& out) {
  Decoder decoder(head, out);
  for_each_record(begin, end, [&](const Slot* at, unsigned slots) { decoder.apply(at, slots); });
}

}  // namespace tidemark::trace
