// SPDX-License-Identifier: Apache-2.0
#include "trace/write/dictionary.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace tidemark::trace {
namespace {

constexpr std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15;
  h ^= h >> 29;
  return h | 1;  // never 0
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  auto const* p = static_cast<const unsigned char*>(data);
  auto const step = [](std::uint64_t h, const unsigned char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    return std::rotl(h ^ word, 29) * 0x9fb21c651e98df25;
  };
  // Two at a time: a call stack is long, and one multiplication waits for the one before.
  std::uint64_t h = 0xcbf29ce484222325 ^ bytes, other = 0x84222325cbf29ce4;
  for (; bytes >= 16; bytes -= 16, p += 16) {
    h = step(h, p);
    other = step(other, p + 8);
  }
  if (bytes >= 8) {
    h = step(h, p);
    bytes -= 8;
    p += 8;
  }
  for (; bytes > 0; --bytes, ++p) h = (h ^ *p) * 0x100000001b3;
  return mix(h ^ std::rotl(other, 32) * 0xd6e8feb86659fd93);
}

// Where all records with a number have it.
std::uint32_t id_of(const Slot* record) {
  return static_cast<std::uint32_t>(record->first >> 32);
}
std::string_view text_of(const Slot* record) {
  return {reinterpret_cast<const char*>(record + 1), static_cast<std::size_t>(record->second & 0xffffffff)};
}
// What lies behind the first slot is there already.
void publish(Slot* out, const Slot& first) {
  out->second = first.second;
  std::atomic_ref(out->first).store(first.first, std::memory_order_release);
}
std::size_t slots_for(std::size_t bytes) {
  return (bytes + kSlotBytes - 1) / kSlotBytes;
}

}  // namespace

bool Dictionary::Table::reserve() {
  // The table lives as long as the process: threads look into it until the very end.
  static_assert(std::is_trivially_destructible_v<Entry>);
  entries_ = reinterpret_cast<Entry*>(Reserved::map(kEntries * sizeof(Entry)).release());
  return entries_ != nullptr;
}

template <class Matches>
const Slot* Dictionary::Table::find(std::uint64_t hash, Matches matches) const {
  for (std::size_t i = hash % kEntries;; i = (i + 1) % kEntries) {
    std::uint64_t const here = entries_[i].hash.load(std::memory_order_acquire);
    if (here == 0) return nullptr;
    if (here == hash && matches(entries_[i].record)) return entries_[i].record;
  }
}

bool Dictionary::Table::insert(std::uint64_t hash, const Slot* record) {
  if (used_ >= kEntries / 4 * 3) return false;
  ++used_;
  std::size_t i = hash % kEntries;
  while (entries_[i].hash.load(std::memory_order_relaxed) != 0) i = (i + 1) % kEntries;
  entries_[i].record = record;
  entries_[i].hash.store(hash, std::memory_order_release);
  return true;
}

bool Dictionary::start(File& file) {
  file_ = &file;
  by_id_ = reinterpret_cast<const Slot**>(Reserved::map(kIndexed * sizeof(const Slot*)).release());
  return by_id_ != nullptr && strings_.reserve() && paths_.reserve() && stacks_.reserve() && streams_.reserve();
}

// With the lock held. A chunk's last slot stays zero and ends it.
Slot* Dictionary::space(std::size_t slots) {
  if (static_cast<std::size_t>(end_ - at_) <= slots) {
    Chunk const chunk = file_->take_shared();
    if (!chunk) return nullptr;
    at_ = chunk.begin();
    end_ = chunk.end();
  }
  return at_;
}

template <class R>
Slot* Dictionary::write_fixed(const R& record) {
  Slot* const out = space(kSlots<R>);
  if (out == nullptr) return nullptr;
  auto const filled = std::bit_cast<std::array<Slot, kSlots<R>>>(record);
  std::copy(filled.begin() + 1, filled.end(), out + 1);
  publish(out, filled[0]);
  at_ += kSlots<R>;
  return out;
}

template <class R>
Slot* Dictionary::write_text(R head, std::string_view first, std::string_view second) {
  std::size_t const bytes = first.size() + second.size();
  std::size_t const slots = 1 + slots_for(bytes);
  Slot* const out = space(slots);
  if (out == nullptr) return nullptr;
  auto* const text = reinterpret_cast<char*>(out + 1);
  std::copy(first.begin(), first.end(), text);
  std::copy(second.begin(), second.end(), text + first.size());
  head.slots = slots;
  head.length = bytes;
  publish(out, std::bit_cast<Slot>(head));
  at_ += slots;
  return out;
}

template <class Matches, class Write>
std::uint32_t Dictionary::intern(Table& table, std::uint64_t hash, Matches matches, Write write) {
  if (const Slot* found = table.find(hash, matches)) return id_of(found);
  std::scoped_lock const guard(lock_);
  if (const Slot* found = table.find(hash, matches)) return id_of(found);
  Slot* const written = write(next_id_);
  if (written == nullptr) return 0;
  std::uint32_t const id = next_id_++;  // taken, even if the table is full and the name will be written again
  if (id < kIndexed) std::atomic_ref(by_id_[id]).store(written, std::memory_order_release);
  table.insert(hash, written);
  return id;
}

const Slot* Dictionary::record_of(std::uint32_t id, Tag tag) const {
  if (id == 0 || id >= kIndexed) return nullptr;
  const Slot* const record = std::atomic_ref(by_id_[id]).load(std::memory_order_acquire);
  return record != nullptr && tag_of(record->first) == tag ? record : nullptr;
}

std::size_t Dictionary::path_text(std::uint32_t id, std::span<char> out) const {
  constexpr int kDeepest = 64;
  std::string_view parts[kDeepest];
  int count = 0;
  while (count < kDeepest) {
    const Slot* const path = record_of(id, Tag::Path);
    if (path == nullptr) break;
    auto const record = decode<Path>(path);
    const Slot* const name = record_of(static_cast<std::uint32_t>(record.name), Tag::String);
    if (name != nullptr) parts[count++] = text_of(name);
    id = static_cast<std::uint32_t>(record.parent);
  }
  std::size_t length = 0;
  auto const append = [&](std::string_view text) {
    text = text.substr(0, out.size() - length);
    std::copy(text.begin(), text.end(), out.begin() + static_cast<std::ptrdiff_t>(length));
    length += text.size();
  };
  for (int i = count; i > 0; --i) {
    if (i != count) append(".");
    append(parts[i - 1]);
  }
  return length;
}

std::uint32_t Dictionary::string(std::string_view text) {
  text = text.substr(0, kLongestText);
  return intern(
      strings_, hash_bytes(text.data(), text.size()), [&](const Slot* r) { return text_of(r) == text; },
      [&](std::uint32_t id) { return write_text(String{.id = id}, text); });
}

std::uint32_t Dictionary::path(std::uint32_t parent, std::string_view name) {
  std::uint32_t const word = string(name);
  if (word == 0) return parent;
  std::uint64_t const key = std::uint64_t{parent} | std::uint64_t{word} << 32;
  std::uint32_t const id = intern(
      paths_, mix(key * 0xd6e8feb86659fd93), [&](const Slot* r) { return r->second == key; },
      [&](std::uint32_t fresh) { return write_fixed(Path{.id = fresh, .parent = parent, .name = word}); });
  return id != 0 ? id : parent;
}

std::uint32_t Dictionary::stack(const CallStack& stack) {
  auto const frames = stack.frames.first(std::min(stack.frames.size(), kMostFrames));
  std::string_view const bytes(reinterpret_cast<const char*>(frames.data()), frames.size_bytes());
  StackTrace const head{
      .length = bytes.size(), .end = static_cast<std::uint64_t>(stack.end), .replaced = stack.replaced};
  std::uint64_t const second = std::bit_cast<Slot>(head).second;
  return intern(
      stacks_, mix(hash_bytes(bytes.data(), bytes.size()) ^ second * 0xd6e8feb86659fd93),
      [&](const Slot* r) { return r->second == second && text_of(r) == bytes; },
      [&](std::uint32_t id) {
        StackTrace named = head;
        named.id = id;
        return write_text(named, bytes);
      });
}

std::uint32_t Dictionary::stream(std::uint64_t handle, std::uint8_t device, std::uint64_t flags) {
  return intern(
      streams_, mix(handle * 0xd6e8feb86659fd93 + device),
      [&](const Slot* r) { return r->second == handle && (r->first >> 8 & 0xff) == device && r[1].first == flags; },
      [&](std::uint32_t id) {
        return write_fixed(StreamName{.device = device, .id = id, .handle = handle, .flags = flags});
      });
}

void Dictionary::fact(std::string_view key, std::string_view value) {
  key = key.substr(0, 256);
  std::scoped_lock const guard(lock_);
  std::uint32_t const id = next_id_++;
  std::size_t const first_part = std::min(value.size(), kLongestText - key.size() - 1);
  char head[300];
  std::copy(key.begin(), key.end(), head);
  head[key.size()] = '\0';
  write_text(Fact{.id = id}, {head, key.size() + 1}, value.substr(0, first_part));
  value.remove_prefix(first_part);
  for (std::uint64_t part = 1; !value.empty() && part < 0x10000; ++part) {
    write_text(Fact{.part = part, .id = id}, value.substr(0, kLongestText));
    value.remove_prefix(std::min(value.size(), kLongestText));
  }
}

std::uint32_t Dictionary::object(const LoadedObject& object) {
  constexpr std::size_t kBytes = kLongestText - (kSlots<Object> - 1) * kSlotBytes;
  std::string_view const build_id = object.build_id.substr(0, 64),
                         path = object.path.substr(0, kBytes - build_id.size());
  std::size_t const length = build_id.size() + path.size(), slots = kSlots<Object> + slots_for(length);
  std::scoped_lock const guard(lock_);
  Slot* const out = space(slots);
  if (out == nullptr) return 0;
  auto const filled = std::bit_cast<std::array<Slot, kSlots<Object>>>(Object{.slots = slots,
                                                                             .id = next_id_,
                                                                             .length = length,
                                                                             .build_id_bytes = build_id.size(),
                                                                             .begin = object.begin,
                                                                             .end = object.end,
                                                                             .bias = object.bias,
                                                                             .ticks = object.ticks});
  std::copy(filled.begin() + 1, filled.end(), out + 1);
  auto* const text = reinterpret_cast<char*>(out + filled.size());
  std::copy(build_id.begin(), build_id.end(), text);
  std::copy(path.begin(), path.end(), text + build_id.size());
  publish(out, filled[0]);
  at_ += slots;
  return next_id_++;
}

}  // namespace tidemark::trace
