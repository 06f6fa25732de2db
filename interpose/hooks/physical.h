// SPDX-License-Identifier: Apache-2.0
// Physical blocks (cuMemCreate) and who holds them: handles, mappings at addresses, tiles of sparse arrays. A block is
// on the account until nobody does. Any thread, through the shield.
#pragma once
#include <cstdint>

#include "interpose/record/recorder.h"

namespace tidemark::interpose {

// A fresh physical block is held by its handle.
void hold(const Allocation& made);

enum class Holder : std::uint8_t { None, Handle, Mapping };
void add_hold(std::uint64_t block, Holder holder);

// A hold that is being given up, with the block that leaves if it was the last one.
struct Dropped {
  std::uint64_t block = 0;
  Holder holder = Holder::None;  // None: there was none
  Leaving leaving;
};
// Before the real call: afterwards the handle may already be another block's.
Dropped drop_hold(std::uint64_t block, Holder holder);
// After it. Where it failed, everything is as before.
void let_go(const Dropped& dropped);
void restore_hold(const Dropped& dropped);

// A sparse array is gone, and with it the mappings of its tiles.
void unmap_tiles(std::uint64_t array);

}  // namespace tidemark::interpose
