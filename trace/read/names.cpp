// SPDX-License-Identifier: Apache-2.0
#include "trace/read/names.h"

#include <algorithm>

namespace tidemark::trace {
namespace {

const std::string kNothing;
// A path of a damaged file could grow with every record.
constexpr std::size_t kLongestPath = 4096;
// Programs load some hundred files; only a damaged trace has more than this.
constexpr std::size_t kMostObjects = 1 << 14;

// The bytes behind a record's head, no more than its slots hold.
std::string_view text_behind(const Slot* at, unsigned slots, std::uint64_t length, unsigned head = 1) {
  return {reinterpret_cast<const char*>(at + head), std::min<std::size_t>(length, (slots - head) * kSlotBytes)};
}

template <class Map>
const auto& look_up(const Map& map, std::uint32_t id, const typename Map::mapped_type& nothing) {
  auto const found = map.find(id);
  return found == map.end() ? nothing : found->second;
}

}  // namespace

const Names::Stack Names::kNoStack;

void Names::add(const Slot* begin, const Slot* end) {
  for_each_record(begin, end, [this](const Slot* at, unsigned slots) { add(at, slots); });
}

void Names::add(const Slot* at, unsigned slots) {
  switch (tag_of(at->first)) {
    case Tag::String: {
      auto const r = decode<String>(at);
      strings_.emplace(r.id, text_behind(at, slots, r.length));
      break;
    }
    case Tag::StackTrace: add_stack(at, slots); break;
    case Tag::Object: add_object(at, slots); break;
    case Tag::Fact: {
      auto const r = decode<Fact>(at);
      add_fact(r, text_behind(at, slots, r.length));
      break;
    }
    case Tag::Path: add_path(decode<Path>(at)); break;
    case Tag::StreamName: {
      auto const r = decode<StreamName>(at);
      streams_.emplace(r.id, r.handle);
      break;
    }
    default: break;
  }
}

void Names::add_stack(const Slot* at, unsigned slots) {
  auto const r = decode<StackTrace>(at);
  std::string_view const bytes = text_behind(at, slots, r.length);
  Stack stack{.frames = std::vector<std::uint64_t>(bytes.size() / 8),
              .end = static_cast<StackEnd>(r.end),
              .objects = objects_.size()};
  if (!stack.frames.empty()) std::memcpy(stack.frames.data(), bytes.data(), stack.frames.size() * 8);
  stacks_.emplace(r.id, std::move(stack));
}

void Names::add_object(const Slot* at, unsigned slots) {
  if (slots < kSlots<Object> || objects_.size() >= kMostObjects) return;
  auto const r = decode<Object>(at);
  std::string_view text = text_behind(at, slots, r.length, kSlots<Object>);
  CodeObject object{.begin = r.begin, .end = r.end, .bias = r.bias, .ticks = r.ticks};
  object.build_id = text.substr(0, r.build_id_bytes);
  text.remove_prefix(object.build_id.size());
  object.path = text;
  objects_.push_back(std::move(object));
}

// A layer is written after the one around it, so its name can be put together at once.
void Names::add_path(const Path& r) {
  std::string full = path(static_cast<std::uint32_t>(r.parent));
  if (!full.empty()) full += '.';
  full += string(static_cast<std::uint32_t>(r.name));
  if (full.size() > kLongestPath) full.resize(kLongestPath);
  paths_.emplace(r.id, std::move(full));
}

void Names::add_fact(const Fact& r, std::string_view text) {
  if (r.part == 0) {
    std::size_t const zero = std::min(text.find('\0'), text.size());
    open_fact_ = static_cast<std::uint32_t>(r.id);
    open_key_ = text.substr(0, zero);
    facts_[open_key_] = zero < text.size() ? text.substr(zero + 1) : std::string_view();
  } else if (r.id == open_fact_) {
    facts_[open_key_] += text;
  }
}

const std::string& Names::string(std::uint32_t id) const {
  return look_up(strings_, id, kNothing);
}
const std::string& Names::path(std::uint32_t id) const {
  return look_up(paths_, id, kNothing);
}
const std::vector<std::uint64_t>& Names::stack(std::uint32_t id) const {
  return look_up(stacks_, id, kNoStack).frames;
}
StackEnd Names::stack_end(std::uint32_t id) const {
  return look_up(stacks_, id, kNoStack).end;
}
const CodeObject* Names::object_at(std::uint32_t stack, std::uint64_t address) const {
  // The place that a return address tells of is the call before it, which may be a function's last instruction.
  for (std::size_t i = look_up(stacks_, stack, kNoStack).objects; i > 0; --i)
    if (CodeObject const& object = objects_[i - 1]; address > object.begin && address <= object.end) return &object;
  return nullptr;
}
std::uint64_t Names::stream_handle(std::uint32_t id) const {
  auto const found = streams_.find(id);
  return found == streams_.end() ? 0 : found->second;
}
const std::string& Names::fact(const std::string& key) const {
  auto const found = facts_.find(key);
  return found == facts_.end() ? kNothing : found->second;
}

}  // namespace tidemark::trace
