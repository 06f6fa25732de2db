// SPDX-License-Identifier: Apache-2.0
// What hooks ask: serve this allocation, this free. Whatever cannot be served is the driver's: its result is the
// program's.
#pragma once
#include <cstdint>
#include <functional>

#include "interpose/order/order.h"
#include "interpose/real/driver.h"
#include "interpose/serve/ours.h"

namespace tidemark::interpose::serve {

// Whether this thread's context has a cache: the runtime need not be asked to serve it.
bool is_current();
// A block for the current context, or, with a stream, in its order. False: the driver is to be asked.
bool allocate(CUdeviceptr* out, std::size_t bytes);
bool allocate_ordered(CUdeviceptr* out, std::size_t bytes, const order::Stream& stream);
// Whether the block was a served one; what the program is told then stands in `result`.
bool free(CUdeviceptr block, CUresult* result);
bool free_ordered(CUdeviceptr block, const order::Stream& stream, CUresult* result);

// All that a cache could hold.
inline constexpr std::uint64_t kEverything = std::uint64_t{1} << 60;
// Somebody else found no memory: gives back what is cached. True: some was given, and asking again may help.
bool relieve(std::uint8_t device, std::uint64_t wanted_bytes);
// Everything cached that can be given back; the bytes.
std::uint64_t empty_caches();
// The program's threads are gone: nobody needs better plans any more. Returns when nobody searches, or soon after.
void end_searches();

// A live served block around an address.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t context = 0;
  std::uint64_t id = 0;  // of no other block of this process
  bool ordered = false;
  std::uint8_t device = 0;
};
enum class Found : std::uint8_t { NotOurs, Free, Live };
Found find_block(std::uint64_t address, Block* block);
// Whether what a copy or a fill names is, as far as it is ours, inside of live blocks: the driver sees only mappings.
bool is_within_blocks(const order::Entry& entry, const order::Arguments& arguments);

// What caches of a device have taken of it as mapped memory, which no context ends.
std::uint64_t mapped_bytes(std::uint8_t device);
// What caches of a device could give back.
std::uint64_t returnable_bytes(std::uint8_t device);
// Looks at the driver's figures and the caches' together, again if memory went from one to the other meanwhile. Not for
// ever: a driver that takes its time to take memory back must not hold up who asks for figures.
void look_at_once(std::uint8_t device, const std::function<void()>& look);
// An error of the device's that no context survives, in either library's numbers.
bool is_sticky(CUresult result);

}  // namespace tidemark::interpose::serve
