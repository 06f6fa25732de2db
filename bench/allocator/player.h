// SPDX-License-Identifier: Apache-2.0
// Takes a peer through a script.
#pragma once
#include <algorithm>
#include <vector>

#include "bench/allocator/device.h"
#include "bench/allocator/script.h"
#include "trace/write/clock.h"

namespace tidemark::bench {

enum class Look : std::uint8_t {
  Reserved,  // what is taken of the device, after each step that may take some
  Time,      // of each allocation and free
  Nothing,
};

struct Played {
  bool fits = true;
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t last_reserved_bytes = 0;  // peak of the last round
  Device::Calls calls, last_calls;
  std::vector<std::uint64_t> ticks;  // of the last round
};

template <class P>
class Player {
 public:
  Player(Device& device, P& peer, const Script& script, Look look)
      : device_(device), peer_(peer), script_(script), look_(look) {
    std::uint32_t most = 0;
    for (const Step& step : script.steps) most = std::max(most, step.block + 1);
    blocks_.resize(most);
  }

  Played play() {
    if (look_ == Look::Reserved) Device::count_calls();
    begin_round();
    for (std::uint64_t round = 0; round < script_.repeat && played_.fits; ++round) {
      for (const Step& step : script_.steps)
        if (!take(step)) {
          played_.fits = false;
          break;
        }
      clear();
      if (script_.repeat > 1) end_round();
    }
    if (script_.repeat == 1 && !script_.loops) end_round();
    played_.calls = calls();
    played_.peak_reserved_bytes = std::max(played_.peak_reserved_bytes, reserved_bytes_);
    return std::move(played_);
  }

 private:
  struct Block {
    std::uint64_t address = 0;
    unsigned stream = 0;
    std::uint32_t others = 0;  // streams that have used it, a bit each
  };

  void begin_round() {
    before_ = calls();
    reserved_bytes_ = peer_.reserved_bytes();
    ticks_.clear();
  }
  void end_round() {
    Device::Calls const now = calls();
    played_.last_calls = {.memory = now.memory - before_.memory, .events = now.events - before_.events};
    played_.last_reserved_bytes = reserved_bytes_;
    played_.peak_reserved_bytes = std::max(played_.peak_reserved_bytes, reserved_bytes_);
    played_.ticks = std::move(ticks_);
    begin_round();
  }
  Device::Calls calls() const {
    if constexpr (requires { peer_.driver_calls(); })
      return {.memory = peer_.driver_calls()};
    else
      return Device::calls();
  }
  bool take(const Step& step) {
    Block& block = blocks_[step.block];
    switch (step.what) {
      case Step::What::Allocate: return allocate(step, block);
      case Step::What::Free: free(block); return true;
      case Step::What::Use:
        peer_.submit(block.address, {.stream = step.stream});
        if (step.stream != block.stream) block.others |= 1u << step.stream;
        return true;
      case Step::What::Order: peer_.put_before(step.other, step.stream); return true;
      case Step::What::Synchronize: device_.synchronize(); return true;
      case Step::What::Round: end_round(); return true;
      case Step::What::Foreign: return foreign(step, block);
      case Step::What::ForeignFree:
        check(cuMemFree(block.address), "cuMemFree");
        block = {};
        return true;
    }
    return false;
  }
  bool allocate(const Step& step, Block& block) {
    std::uint64_t const begin = now();
    block = {.address = peer_.allocate(step.bytes, {.stream = step.stream}), .stream = step.stream};
    note(begin);
    look();
    return block.address != 0;
  }
  void free(Block& block) {
    std::uint64_t const begin = now();
    if (block.others == 0)
      peer_.free(block.address, {.stream = block.stream});
    else
      peer_.free_used(block.address, {.stream = block.stream}, block.others);
    note(begin);
    block = {};
  }
  bool foreign(const Step& step, Block& block) {
    CUdeviceptr address = 0;
    CUresult result = cuMemAlloc(&address, step.bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && peer_.give_back(step.bytes)) result = cuMemAlloc(&address, step.bytes);
    block = {.address = address};
    look();
    return result == CUDA_SUCCESS;
  }
  void clear() {
    device_.synchronize();
    for (Block& block : blocks_)
      if (block.address != 0) free(block);
  }
  void look() {
    if (look_ == Look::Reserved) reserved_bytes_ = std::max(reserved_bytes_, peer_.reserved_bytes());
  }
  std::uint64_t now() const { return look_ == Look::Time ? clock_.now_ordered() : 0; }
  void note(std::uint64_t begin) {
    if (look_ == Look::Time) ticks_.push_back(clock_.now_ordered() - begin);
  }

  Device& device_;
  P& peer_;
  const Script& script_;
  Look look_;
  trace::Clock clock_ = trace::Clock::pick();
  std::vector<Block> blocks_;
  std::uint64_t reserved_bytes_ = 0;  // peak of this round
  Device::Calls before_;
  std::vector<std::uint64_t> ticks_;
  Played played_;
};

}  // namespace tidemark::bench
