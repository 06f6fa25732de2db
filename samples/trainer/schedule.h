// SPDX-License-Identifier: Apache-2.0
// The order of a step: which node's forward or backward pass comes when. Nothing else is said: a backward pass reads
// what the latest forward pass of each node left, so a node that is run again shortly before its backward pass need not
// be kept until then, and what nobody reads is not kept. Recomputation of every kind is therefore only an order.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "samples/trainer/graph.h"

namespace tidemark::trainer {

struct NodeRange {
  std::size_t first = 0, last = 0;  // half-open
};

struct Pass {
  enum class Way : std::uint8_t {
    Forward,
    Backward,
    Drop,  // of an evaluation: what a backward pass would have read is there until now
  };
  Way way = Way::Forward;
  std::uint32_t node = 0;
  bool operator==(const Pass&) const = default;
};
using Schedule = std::vector<Pass>;

// ---- orders
// ----------------------------------------------------------------------------------------------------------

void append_forward(Schedule& schedule, NodeRange range);
// The nodes backwards. With `selective`, values that cheap ops make are not kept: the ops run again where a backward
// pass needs them, once for each row of the model's table that does. Everything that the range reads is still there.
void append_backward(Schedule& schedule, const Graph& graph, NodeRange range, bool selective);

// Each segment but the last runs twice.
Schedule segmented_schedule(const Graph& graph, const std::vector<NodeRange>& segments, bool selective);
Schedule evaluation_schedule(const Graph& graph, bool keep);
// Groups of the table's rows, about as many as there are rows in one.
std::vector<NodeRange> sqrt_segments(const Graph& graph);

// Whether the node's output can be made again for next to nothing from values that are there anyway.
std::vector<bool> cheap_nodes(const Graph& graph);

// ---- who reads what
// --------------------------------------------------------------------------------------------------

inline constexpr std::int32_t kDrawn = -1;  // a value that no pass made: input and targets

// Of one pass. A forward pass that nobody reads from any more is left out (`runs` is false), except the first of its
// node: it is the model's own.
struct Reading {
  bool runs = true;
  bool first = false;                                  // of its node
  std::array<std::int32_t, kMaxInputs> from{};         // the passes that made the inputs
  std::int32_t own = kDrawn;                           // backward: the pass that made output and extra buffers
  std::array<bool, kMaxInputs> reads{};                // which inputs, where the pass is not a forward one
  bool reads_output = false, reads_extras = false;     // likewise
  std::size_t output_readers = 0, extras_readers = 0;  // forward: passes that will read what it makes
};
struct Readings {
  std::vector<Reading> passes;
  std::vector<std::size_t> drawn_readers;  // by value
};
Readings read_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace tidemark::trainer
