// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/checker.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "softgpu/queue/stream.h"

namespace tidemark::softgpu {
namespace {

constexpr std::uint64_t kMostPrinted = 20;
constexpr int kDeepest = 24;

std::vector<void*> call_stack() {
  std::array<void*, kDeepest> frames{};
  int const n = ::backtrace(frames.data(), kDeepest);
  // Not braces: they would make a list of the two iterators, which are void pointers too.
  return std::vector<void*>(frames.begin(), frames.begin() + n);
}

std::string readable(const char* symbol) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : symbol;
  std::free(plain);
  return text;
}

// Frames inside the device and the runtime above it say nothing about the program.
bool is_ours(const char* file) {
  const char* const slash = std::strrchr(file, '/');
  const char* const name = slash != nullptr ? slash + 1 : file;
  return std::strncmp(name, "libcuda", 7) == 0 || std::strncmp(name, "libcudart", 9) == 0;
}

std::string describe(const std::vector<void*>& stack) {
  std::string text;
  int shown = 0;
  for (void* const frame : stack) {
    Dl_info info{};
    if (::dladdr(frame, &info) == 0 || info.dli_fname == nullptr || is_ours(info.dli_fname)) continue;
    std::array<char, 64> offset{};
    std::snprintf(offset.data(), offset.size(), "+0x%zx",
                  reinterpret_cast<std::size_t>(frame) - reinterpret_cast<std::size_t>(info.dli_fbase));
    const char* const slash = std::strrchr(info.dli_fname, '/');
    text.append("\n      ").append(slash != nullptr ? slash + 1 : info.dli_fname).append(offset.data());
    if (info.dli_sname != nullptr) text.append(" ").append(readable(info.dli_sname));
    if (++shown == 6) break;
  }
  return text.empty() ? " (unknown)" : text;
}

}  // namespace

void GenerationMap::erase(std::uintptr_t address, std::uint64_t bytes) {
  std::uintptr_t const end = address + bytes;
  auto it = entries_.lower_bound(address);
  if (it != entries_.begin()) {
    auto const before = std::prev(it);
    if (before->second.end > address) {
      Entry tail = before->second;
      before->second.end = address;
      if (tail.end > end) entries_.emplace(end, std::move(tail));
    }
  }
  while (it != entries_.end() && it->first < end) {
    if (it->second.end > end) {
      Entry tail = std::move(it->second);
      entries_.erase(it);
      entries_.emplace(end, std::move(tail));
      return;
    }
    it = entries_.erase(it);
  }
}

void GenerationMap::set(std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation,
                        std::vector<void*> where) {
  if (bytes == 0) return;
  erase(address, bytes);
  entries_.emplace(address, Entry{address + bytes, generation, std::move(where)});
}

const GenerationMap::Entry* GenerationMap::find(std::uintptr_t address) const {
  auto it = entries_.upper_bound(address);
  if (it == entries_.begin()) return nullptr;
  --it;
  return address < it->second.end ? &it->second : nullptr;
}

std::uint64_t GenerationMap::sum(std::uintptr_t address, std::uint64_t bytes) const {
  if (auto const* const first = find(address); first != nullptr && first->end - address >= bytes) return 0;
  std::uint64_t sum = 1;
  for (auto it = entries_.upper_bound(address); it != entries_.end() && it->first - address < bytes; ++it)
    sum = (sum * 31 + it->first) * 31 + it->second.generation;
  return sum;
}

namespace {
bool has(Checker::View view, Checker::View part) {
  return (static_cast<int>(view) & static_cast<int>(part)) != 0;
}
}  // namespace

bool Checker::take(Unborn& unborn, std::uintptr_t address, std::uint64_t generation) {
  auto const found = unborn.find({address, generation});
  if (found == unborn.end()) return false;
  if (--found->second == 0) unborn.erase(found);
  return true;
}

bool Checker::is_unborn(std::uint64_t generation) const {
  for (Unborn const* const unborn : {&unborn_blocks_, &unborn_overlays_})
    for (auto const& [key, count] : *unborn)
      if (key.second == generation) return true;
  return false;
}

void Checker::appear(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation) {
  auto const where = call_stack();
  if (has(view, View::Host)) {
    host_.blocks.set(address, bytes, generation, where);
    given_back_.erase(address, bytes);
  }
  if (view == View::Host) ++unborn_blocks_[{address, generation}];
  if (!has(view, View::Device)) return;
  if (view == View::Device && !take(unborn_blocks_, address, generation)) return;  // freed before it came
  device_.blocks.set(address, bytes, generation, where);
  freed_.erase(address, bytes);
}

void Checker::vanish(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation) {
  auto const where = call_stack();
  if (has(view, View::Host)) {
    host_.blocks.erase(address, bytes);
    host_.overlays.erase(address, bytes);
    given_back_.set(address, bytes, 0, where);
  }
  if (!has(view, View::Device)) return;
  auto const* const there = device_.blocks.find(address);
  bool const is_there = generation == 0 || (there != nullptr && there->generation == generation);
  if (!is_there && !take(unborn_blocks_, address, generation)) return;  // somebody else has the place by now
  device_.blocks.erase(address, bytes);
  device_.overlays.erase(address, bytes);
  freed_.set(address, bytes, 0, where);
}

void Checker::overlay(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation,
                      std::uint64_t frees) {
  auto const where = call_stack();
  if (has(view, View::Host)) host_.overlays.set(address, bytes, generation, where);
  if (view == View::Host && generation != 0) ++unborn_overlays_[{address, generation}];
  if (!has(view, View::Device)) return;
  if (generation != 0) {
    if (view == View::Device && !take(unborn_overlays_, address, generation)) return;  // freed before it came
  } else if (frees != 0) {
    auto const* const there = device_.overlays.find(address);
    bool const is_there = there != nullptr && there->generation == frees;
    if (!is_there && !take(unborn_overlays_, address, frees)) return;  // somebody else has the place by now
  }
  device_.overlays.set(address, bytes, generation, where);
}

std::uint64_t Checker::overlay_at(std::uintptr_t address) const {
  auto const* const there = host_.overlays.find(address);
  return there != nullptr ? there->generation : 0;
}

Checker::Seen Checker::look(const Layer& layer, std::uintptr_t address) {
  Seen seen;
  if (auto const* block = layer.blocks.find(address)) seen.block = block->generation;
  if (auto const* over = layer.overlays.find(address)) {
    seen.has_overlay = true;
    seen.overlay = over->generation;
  }
  return seen;
}

void Checker::note(Provenance& provenance, Touch touch, const char* name) {
  if (provenance.call_stack.empty()) provenance.call_stack = call_stack();
  Seen const first = look(host_, touch.address);
  if (first.key() == 0) {
    auto const* gone = first.has_overlay ? host_.overlays.find(touch.address) : given_back_.find(touch.address);
    if (touch.certain && gone != nullptr)
      report({"use after free (the work was queued after the free)", name, 0, touch.address, touch.writes,
              &provenance.call_stack, gone});
    return;
  }
  touch.first_generation = first.key();
  touch.last_generation = look(host_, touch.address + touch.bytes - 1).key();
  touch.blocks_inside = host_.blocks.sum(touch.address, touch.bytes);
  provenance.touches.push_back(touch);
}

bool Checker::check(const Item& item, const Stream& stream, const Touch& touch, std::uintptr_t address,
                    std::uint64_t expected) {
  Seen const now = look(device_, address);
  if (expected == 0 || now.key() == expected) return true;
  Finding finding{"early reuse (the memory was handed out again before the work ran)",
                  item.name,
                  stream.id,
                  address,
                  touch.writes,
                  &item.provenance->call_stack,
                  now.has_overlay ? device_.overlays.find(address) : device_.blocks.find(address)};
  if (is_unborn(expected)) {
    finding.what = "use before allocation (the work ran before the stream-ordered allocation)";
    finding.culprit = nullptr;
  } else if (now.key() == 0) {
    finding.what = "use after free (the memory was freed before the work ran)";
    if (!now.has_overlay) finding.culprit = freed_.find(address);
  }
  report(finding);
  return false;
}

// Mappings side by side: work on all of them touches those between the ends too.
bool Checker::check_inside(const Item& item, const Stream& stream, const Touch& touch) {
  if (touch.blocks_inside == 0 || device_.blocks.sum(touch.address, touch.bytes) == touch.blocks_inside) return true;
  report({"use after free or early reuse (a mapping inside the range has changed before the work ran)", item.name,
          stream.id, touch.address, touch.writes, &item.provenance->call_stack, nullptr});
  return false;
}

void Checker::before(const Item& item, const Stream& stream) {
  if (!item.provenance) return;
  for (Touch const& touch : item.provenance->touches)
    if (check(item, stream, touch, touch.address, touch.first_generation) && touch.bytes > 1 &&
        check(item, stream, touch, touch.address + touch.bytes - 1, touch.last_generation))
      check_inside(item, stream, touch);
}

void Checker::report(const Finding& finding) {
  if (++reports_ > kMostPrinted) return;
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(), " %s 0x%zx on stream %llu", finding.writes ? "writes" : "touches",
                static_cast<std::size_t>(finding.address), static_cast<unsigned long long>(finding.stream_id));
  std::string text = "check: " + std::string(finding.what) + ": '" + readable(finding.name) + "'" + line.data();
  text += "\n    queued at:" + describe(*finding.queued_at);
  if (finding.culprit != nullptr) text += "\n    freed or handed out at:" + describe(finding.culprit->where);
  say("softgpu", text);
  if (reports_ == kMostPrinted) say("softgpu", "check: further reports are counted, not printed");
}

}  // namespace tidemark::softgpu
