// SPDX-License-Identifier: Apache-2.0
// Finds queued work that touches memory which was freed, unmapped or handed out again before the work ran.
//
// Each range of memory has a generation, new at every allocation. The host's view changes when the program calls; the
// device's view changes when the call's effect happens in stream order. An item keeps what the host saw when it was
// queued and is compared with what the device sees when it runs. An allocator above the device lays its own blocks over
// the device's (softgpu_range). All functions are called under the engine's lock.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/queue/item.h"

namespace tidemark::softgpu {

// Ranges with a generation each; setting a range replaces what it overlaps.
class GenerationMap {
 public:
  struct Entry {
    std::uintptr_t end;
    std::uint64_t generation;
    std::vector<void*> where;  // call stack of the call that set it
  };
  void set(std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation, std::vector<void*> where);
  void erase(std::uintptr_t address, std::uint64_t bytes);
  const Entry* find(std::uintptr_t address) const;
  // A number for the generations in the range and where they begin; 0 when one entry holds all of it.
  std::uint64_t sum(std::uintptr_t address, std::uint64_t bytes) const;

 private:
  std::map<std::uintptr_t, Entry> entries_;
};

class Checker {
 public:
  enum class View : std::uint8_t { Host = 1, Device = 2, Both = 3 };

  // A block of the device (or pool) appears or goes. freed ranges stay known until they are used again. What the host
  // has announced appears on the device later, unless the device meets its end first (a free that nobody ordered behind
  // the allocation): then it never does. generation 0: whatever is there goes.
  void appear(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation);
  void vanish(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation = 0);
  // An allocator's own block (softgpu_range); generation 0 = freed by it, and `frees` the one that goes (0: any).
  void overlay(View view, std::uintptr_t address, std::uint64_t bytes, std::uint64_t generation,
               std::uint64_t frees = 0);
  // The allocator's generation at this address, as the host sees it; 0: none.
  std::uint64_t overlay_at(std::uintptr_t address) const;

  // Adds the touch as the host sees it now. A certain one into freed memory is a finding at once; one into memory that
  // the device does not know (the host's own) is ignored.
  void note(Provenance& provenance, Touch touch, const char* name);
  void before(const Item& item, const Stream& stream);
  std::uint64_t reports() const { return reports_; }

 private:
  struct Layer {
    GenerationMap blocks, overlays;
  };
  struct Seen {
    std::uint64_t block = 0, overlay = 0;
    bool has_overlay = false;
    std::uint64_t key() const { return has_overlay ? overlay : block; }
  };
  struct Finding {
    std::string_view what;
    const char* name;
    std::uint64_t stream_id;
    std::uintptr_t address;
    bool writes;
    const std::vector<void*>* queued_at;
    const GenerationMap::Entry* culprit;  // the free or the allocation that came between
  };
  // A generation that is known to the host and not yet to the device, and how often.
  using Unborn = std::map<std::pair<std::uintptr_t, std::uint64_t>, int>;
  static bool take(Unborn& unborn, std::uintptr_t address, std::uint64_t generation);
  bool is_unborn(std::uint64_t generation) const;
  static Seen look(const Layer& layer, std::uintptr_t address);
  bool check(const Item& item, const Stream& stream, const Touch& touch, std::uintptr_t address,
             std::uint64_t expected);
  bool check_inside(const Item& item, const Stream& stream, const Touch& touch);
  void report(const Finding& finding);

  Layer host_, device_;
  GenerationMap given_back_;  // by the host; the free may still be queued
  GenerationMap freed_;       // on the device
  Unborn unborn_blocks_, unborn_overlays_;
  std::uint64_t reports_ = 0;
};

}  // namespace tidemark::softgpu
