// SPDX-License-Identifier: Apache-2.0
// Who uses which served block, to find frees that come too early: memory that is freed in one stream's order while work
// of another, submitted before, has neither ended nor been put before it. That is a mistake of the program's: natively
// too, the memory may be somebody else's while that work runs. Off unless it was asked for (TIDEMARK_CHECK_FREES).
//
// What is seen: the ranges of asynchronous copies and fills, and every word of a kernel's parameters that is an address
// in a served block, where the driver tells the parameters' layout. What is not: pointers in memory, work of graphs,
// kernels whose layout is not told. So a free that is not reported may be wrong all the same. An order counts that was
// made by events, by the legacy stream or by waiting on the host; where something is not known (values that streams
// wait for, host functions, events of others, queries), it counts as an order. What is left is reported only if the
// driver says that the stream is still busy.
#pragma once
#include <cstdint>

#include "interpose/order/order.h"

namespace tidemark::interpose::serve {

struct Cache;
struct KnownStream;

bool follows_uses();
// Before a call goes to the driver. `stream`: the one that it names, if it is known.
void follow(const order::Submission& work, KnownStream* stream);
// The host waits for an event; null: for everything.
void host_waits_for(std::uint64_t event);
// Functions may be others from here on under the same handles.
void forget_functions();
void forget_uses_of(const KnownStream& stream);

// A block has a new owner; and is freed in a stream's order, or (null) as cudaFree does, which waits.
void block_begins(std::uint64_t address);
void block_ends(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream);

}  // namespace tidemark::interpose::serve
