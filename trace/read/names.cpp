// SPDX-License-Identifier: Apache-2.0
#include "trace/read/names.h"

#include <algorithm>

namespace tidemark::trace {
namespace {

const std::string kNothing;
const std::vector<std::uint64_t> kNoFrames;
// A path of a damaged file could grow with every record.
constexpr std::size_t kLongestPath = 4096;

// The bytes behind a text record's head, no more than its slots hold.
std::string_view text_behind(const Slot* at, unsigned slots, std::uint64_t length) {
  return {reinterpret_cast<const char*>(at + 1), std::min<std::size_t>(length, (slots - 1) * kSlotBytes)};
}

template <class Map>
const auto& look_up(const Map& map, std::uint32_t id, const typename Map::mapped_type& nothing) {
  auto const found = map.find(id);
  return found == map.end() ? nothing : found->second;
}

}  // namespace

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
    case Tag::StackTrace: {
      auto const r = decode<StackTrace>(at);
      std::string_view const bytes = text_behind(at, slots, r.length);
      std::vector<std::uint64_t> frames(bytes.size() / 8);
      if (!frames.empty()) std::memcpy(frames.data(), bytes.data(), frames.size() * 8);
      stacks_.emplace(r.id, std::move(frames));
      break;
    }
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
  return look_up(stacks_, id, kNoFrames);
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
