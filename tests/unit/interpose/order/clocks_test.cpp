// SPDX-License-Identifier: Apache-2.0
#include "interpose/order/clocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace tidemark::interpose::order {
namespace {

using Kind = Clocks::Kind;

struct ClocksTest : testing::Test {
  Clocks clocks;
  int a = clocks.add(Kind::NonBlocking), b = clocks.add(Kind::NonBlocking);
};

TEST_F(ClocksTest, WorkOfTwoStreamsHasNoOrderOfItsOwn) {
  Clocks::Time const use = clocks.work(b);
  EXPECT_FALSE(clocks.is_before(b, use, a));
  EXPECT_TRUE(clocks.is_before(b, use, b)) << "a stream is in its own order";
}

TEST_F(ClocksTest, AnEventThatIsWaitedForMakesOne) {
  Clocks::Time const use = clocks.work(b);
  clocks.record(1, b);
  Clocks::Time const later = clocks.work(b);
  EXPECT_FALSE(clocks.is_before(b, use, a));
  clocks.wait(a, 1);
  EXPECT_TRUE(clocks.is_before(b, use, a));
  EXPECT_FALSE(clocks.is_before(b, later, a)) << "what came behind the event is not covered";
}

TEST_F(ClocksTest, AnEventIsWhatItWasWhenItWasWaitedFor) {
  Clocks::Time const use = clocks.work(b);
  clocks.record(1, a);  // recorded before the use, in the other stream
  clocks.wait(a, 1);
  EXPECT_FALSE(clocks.is_before(b, use, a));
}

TEST_F(ClocksTest, OrderPassesThroughAThirdStream) {
  int const c = clocks.add(Kind::NonBlocking);
  Clocks::Time const use = clocks.work(b);
  clocks.record(1, b);
  clocks.wait(c, 1);
  clocks.record(2, c);
  clocks.wait(a, 2);
  EXPECT_TRUE(clocks.is_before(b, use, a));
}

TEST_F(ClocksTest, TheHostsWaitingEndsWhatItWaitedFor) {
  Clocks::Time const use = clocks.work(b);
  clocks.record(1, b);
  Clocks::Time const later = clocks.work(b);
  clocks.host_waited_for(1);
  EXPECT_TRUE(clocks.is_before(b, use, a));
  EXPECT_FALSE(clocks.is_before(b, later, a));
  clocks.host_waited(b);
  EXPECT_TRUE(clocks.is_before(b, later, a));
}

TEST_F(ClocksTest, TheLegacyStreamStandsBetweenBlockingOnesOnly) {
  int const legacy = clocks.add(Kind::Legacy), c = clocks.add(Kind::Blocking), d = clocks.add(Kind::Blocking);
  Clocks::Time const blocking = clocks.work(c), other = clocks.work(b);
  EXPECT_TRUE(clocks.is_before(c, blocking, legacy));
  EXPECT_FALSE(clocks.is_before(b, other, legacy));
  EXPECT_FALSE(clocks.is_before(c, blocking, d));
  clocks.work(legacy);
  EXPECT_TRUE(clocks.is_before(c, blocking, d));
  EXPECT_FALSE(clocks.is_before(c, blocking, a));
}

TEST_F(ClocksTest, WhatIsNotKnownCountsAsAnOrder) {
  Clocks::Time const use = clocks.work(b);
  clocks.wait(a, 77);  // recorded by somebody else
  EXPECT_TRUE(clocks.is_before(b, use, a));
  Clocks::Time const next = clocks.work(b);
  EXPECT_FALSE(clocks.is_before(b, next, a));
  clocks.wait_for_anything(a);
  EXPECT_TRUE(clocks.is_before(b, next, a));
  EXPECT_TRUE(clocks.is_before(Clocks::kUntold, 1, a) && clocks.is_before(b, clocks.work(b), Clocks::kUntold));
}

TEST_F(ClocksTest, ThereAreOnlySoManyAndANumberServesAgain) {
  std::vector<int> all;
  for (int i = 2; i < Clocks::kMost; ++i) all.push_back(clocks.add(Kind::NonBlocking));
  EXPECT_EQ(clocks.add(Kind::NonBlocking), Clocks::kUntold);
  clocks.work(all[5]);
  clocks.remove(all[5]);
  int const again = clocks.add(Kind::NonBlocking);
  EXPECT_EQ(again, all[5]);
  EXPECT_EQ(clocks.work(again), 2u) << "its clock goes on";
}

// A plain reference: work is a node of a graph, and order is a path in it.
class Graph {
 public:
  explicit Graph(const std::vector<Kind>& kinds) : kinds_(kinds), tail_(kinds.size()) {}

  int work(std::size_t stream) {
    int const node = next_++;
    edges_[node] = front_of(stream);
    tail_[stream] = {node};
    if (kinds_[stream] == Kind::Legacy) legacy_ = {node};
    return node;
  }
  void record(std::uint64_t event, std::size_t stream) { events_[event] = front_of(stream); }
  void wait(std::size_t stream, std::uint64_t event) {
    tail_[stream].insert(events_[event].begin(), events_[event].end());
  }
  void host_waited(std::size_t stream) { finish(front_of(stream)); }
  // Whether a node is over, or comes before the next work of a stream.
  bool is_before(int node, std::size_t later) const {
    std::set<int> seen;
    for (int const front : front_of(later)) visit(front, seen);
    return done_.contains(node) || seen.contains(node);
  }

 private:
  // What the next work of a stream would stand behind.
  std::set<int> front_of(std::size_t stream) const {
    std::set<int> front = tail_[stream];
    if (kinds_[stream] == Kind::Blocking) front.insert(legacy_.begin(), legacy_.end());
    if (kinds_[stream] == Kind::Legacy)
      for (std::size_t i = 0; i < kinds_.size(); ++i)
        if (kinds_[i] == Kind::Blocking) front.insert(tail_[i].begin(), tail_[i].end());
    return front;
  }
  void visit(int node, std::set<int>& seen) const {
    if (!seen.insert(node).second) return;
    for (int const before : edges_.at(node)) visit(before, seen);
  }
  void finish(const std::set<int>& nodes) {
    for (int const node : nodes) visit(node, done_);
  }

  std::vector<Kind> kinds_;
  std::vector<std::set<int>> tail_;
  std::set<int> legacy_;
  std::set<int> done_;
  std::map<int, std::set<int>> edges_;
  std::map<std::uint64_t, std::set<int>> events_;
  int next_ = 0;
};

TEST(ClocksAgainstGraph, EveryOrderIsThereAndNoOther) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Kind> const kinds{Kind::Legacy, Kind::Blocking, Kind::Blocking, Kind::NonBlocking, Kind::NonBlocking};
    Clocks clocks;
    Graph graph(kinds);
    for (Kind const kind : kinds) clocks.add(kind);
    struct Node {
      int stream, node;
      Clocks::Time time;
    };
    std::vector<Node> nodes;
    std::set<std::uint64_t> recorded;
    for (int i = 0; i < 60; ++i) {
      auto const stream = static_cast<int>(random() % kinds.size());
      auto const at = static_cast<std::size_t>(stream);
      std::uint64_t const event = 1 + random() % 4;
      switch (random() % 8) {
        case 0:
        case 1:
          clocks.record(event, stream);
          graph.record(event, at);
          recorded.insert(event);
          break;
        case 2:
        case 3:
          if (!recorded.contains(event)) break;
          clocks.wait(stream, event);
          graph.wait(at, event);
          break;
        case 4:
          if (random() % 4 != 0) break;
          clocks.host_waited(stream);
          graph.host_waited(at);
          break;
        default: {
          Clocks::Time const time = clocks.work(stream);
          nodes.push_back({stream, graph.work(at), time});
        }
      }
      for (const Node& n : nodes)
        for (int later = 0; later < static_cast<int>(kinds.size()); ++later) {
          if (later == n.stream) continue;
          ASSERT_EQ(clocks.is_before(n.stream, n.time, later), graph.is_before(n.node, static_cast<std::size_t>(later)))
              << "after " << i << " calls: stream " << n.stream << ", time " << n.time << ", before " << later;
        }
    }
  }
}

}  // namespace
}  // namespace tidemark::interpose::order
