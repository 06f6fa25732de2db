// SPDX-License-Identifier: Apache-2.0
// usage: bench_allocator [--short] [--json] [--rounds N] [--peers A,B,...]
// What do an allocation and its free cost, with one thread and with more, in our allocator and in its peers? All on the
// software device, in processes that take turns; the median of the rounds. Without --json a table, else JSON with every
// ratio. --peer NAME: one process of them.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/allocator/peers.h"
#include "bench/allocator/process_set.h"

namespace {

using namespace tidemark;
using namespace tidemark::bench;

struct Settings {
  bool brief = false;
  bool json = false;
  int rounds = 7;
  std::string peer, peers;
} g;

constexpr unsigned kMostThreads = 8;
constexpr const char* kOwn = ", processor's time";

std::size_t hot(auto& peer, Caller who, std::uint64_t bytes, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint64_t const block = peer.allocate(bytes, who);
    peer.free(block, who);
  }
  return pairs;
}

// 200 allocations of 20 sizes forward, each with half a temporary, freed in reverse: the shape of a training step.
std::size_t train(auto& peer, Caller who, std::size_t steps) {
  std::vector<std::uint64_t> live;
  std::size_t pairs = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < 200; ++i) {
      live.push_back(peer.allocate((1 + i % 20) * 200'000, who));
      if (i % 2 == 0) {
        peer.free(peer.allocate((1 + i % 7) * 90'000, who), who);
        ++pairs;
      }
    }
    pairs += live.size();
    for (; !live.empty(); live.pop_back()) peer.free(live.back(), who);
  }
  return pairs;
}

// Sizes from 1 KiB to 16 MiB, 256 live.
std::size_t random_sizes(auto& peer, Caller who, std::size_t pairs) {
  std::mt19937 random(who.thread + 1);
  std::vector<std::uint64_t> live(256);
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint64_t& slot = live[random() % live.size()];
    if (slot != 0) peer.free(slot, who);
    slot = peer.allocate(1024 + random() % (1u << (10 + random() % 15)), who);
  }
  for (std::uint64_t const block : live)
    if (block != 0) peer.free(block, who);
  return pairs;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Spent {
  double wall_ns = 0;  // as a program sees it, and with it whatever else the machine does
  double own_ns = 0;   // the processor's time for the thread: spinning counts, sleeping does not
};

double own_now_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// All threads begin together; per pair, of the thread that needs the most.
Spent per_pair(const Device& device, unsigned threads, auto workload) {
  std::vector<double> walls, owns;
  for (int repetition = 0; repetition < (g.brief ? 1 : 3); ++repetition) {
    std::vector<Spent> each(threads);
    std::vector<std::thread> running;
    std::atomic<unsigned> ready{0};
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        device.use_context();
        workload(t, true);  // warm
        ++ready;
        while (ready < threads) std::this_thread::yield();
        double const own = own_now_ns();
        auto const begin = std::chrono::steady_clock::now();
        auto const pairs = static_cast<double>(workload(t, false));
        std::chrono::duration<double, std::nano> const wall = std::chrono::steady_clock::now() - begin;
        each[t] = {.wall_ns = wall.count() / pairs, .own_ns = (own_now_ns() - own) / pairs};
      });
    for (std::thread& t : running) t.join();
    walls.push_back(
        std::max_element(each.begin(), each.end(), [](auto& x, auto& y) { return x.wall_ns < y.wall_ns; })->wall_ns);
    owns.push_back(
        std::max_element(each.begin(), each.end(), [](auto& x, auto& y) { return x.own_ns < y.own_ns; })->own_ns);
  }
  return {.wall_ns = median(std::move(walls)), .own_ns = median(std::move(owns))};
}

// Each call with a look at the clock before and after it; what looking costs is taken off.
template <class P>
class Timed {
 public:
  explicit Timed(P& peer) : peer_(peer) {
    for (int i = 0; i < 1000; ++i) time([] { return 0; });
    look_ = median(std::move(ticks_));
    ticks_.clear();
  }
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    return time([&] { return peer_.allocate(bytes, who); });
  }
  void free(std::uint64_t address, Caller who) {
    time([&] { return peer_.free(address, who), 0; });
  }
  void tell(const std::string& question) {
    std::sort(ticks_.begin(), ticks_.end());
    double const ns_per_tick = 1e9 / static_cast<double>(clock_.ticks_per_second());
    auto const at = [&](double share) {
      double const ticks = ticks_[static_cast<std::size_t>(share * static_cast<double>(ticks_.size() - 1))];
      return std::max(0.0, ticks - look_) * ns_per_tick;
    };
    answer(question + " p50 of a call", at(0.5));
    answer(question + " p99 of a call", at(0.99));
  }

 private:
  auto time(auto f) {
    std::uint64_t const begin = clock_.now_ordered();
    auto const result = f();
    ticks_.push_back(static_cast<double>(clock_.now_ordered() - begin));
    return result;
  }
  P& peer_;
  trace::Clock clock_ = trace::Clock::pick();
  double look_ = 0;
  std::vector<double> ticks_;
};

void single_calls(auto& peer) {
  std::size_t const scale = g.brief ? 1 : 50;
  train(peer, {}, 5);
  Timed timed(peer);
  train(timed, {}, scale);
  timed.tell("train");
  random_sizes(peer, {}, 1000);
  Timed mixed(peer);
  random_sizes(mixed, {}, 400 * scale);
  mixed.tell("random");
}

void measure(Device& device, auto& peer) {
  std::size_t const scale = g.brief ? 1 : 50;
  auto const all = [&](const std::string& suffix, unsigned threads, bool stream_each) {
    auto const run = [&](const char* name, auto workload) {
      Spent const spent = per_pair(device, threads, [&](unsigned t, bool warm) {
        return workload(Caller{.thread = t, .stream = stream_each ? t : 0}, warm);
      });
      answer(name + suffix, spent.wall_ns);
      answer(name + suffix + kOwn, spent.own_ns);
    };
    // Warm: beyond the time in which an allocator finds its size.
    if (threads <= 2)
      run("hot 1 KiB", [&](Caller who, bool warm) { return hot(peer, who, 1024, warm ? 100 : 1000 * scale); });
    run("hot 4 MiB", [&](Caller who, bool warm) { return hot(peer, who, 4 << 20, warm ? 100 : 1000 * scale); });
    run("train", [&](Caller who, bool warm) { return train(peer, who, warm ? 40 : scale); });
    if (threads <= 2)
      run("random", [&](Caller who, bool warm) { return random_sizes(peer, who, warm ? 2000 : 200 * scale); });
  };
  std::uint64_t const block = peer.allocate(512, {});
  peer.submit(block, {});
  single_calls(peer);
  all(", 1 thread", 1, false);
  all(", 2 threads on one stream", 2, false);
  for (unsigned s = 1; s < kMostThreads; ++s) peer.submit(block, {.stream = s});
  device.synchronize();
  all(", 2 threads, a stream each", 2, true);
  for (unsigned const threads : {4u, 8u})
    all(", " + std::to_string(threads) + " threads, a stream each", threads, true);
}

bool is_asked_for(const std::string& name) {
  return g.peers.empty() || ("," + g.peers + ",").find("," + name + ",") != std::string::npos;
}

Table compare() {
  Table table;
  std::vector<std::string> absent;
  for (int round = 0; round < (g.brief ? 1 : g.rounds); ++round)
    for (const PeerName& peer : kPeers) {
      std::string const name = peer.name;
      if (!is_asked_for(name) || name.ends_with("rules") || name.ends_with("planned")) continue;
      if (std::find(absent.begin(), absent.end(), name) != absent.end()) continue;
      Answer const got = ask(peer, g.brief ? std::vector<std::string>{"--short"} : std::vector<std::string>{}, "");
      if (got.exit_code == 4) {
        std::fprintf(stderr, "bench_allocator: not here: %s\n", peer.name);
        absent.push_back(name);
      } else if (got.exit_code != 0) {
        std::fprintf(stderr, "%sbench_allocator: %s: failed with %d\n", got.talk.c_str(), peer.name, got.exit_code);
        std::exit(1);
      }
      for (auto const& [question, value] : got.values) table.add(name, question, value);
    }
  return table;
}

void print_text(const Table& table) {
  std::printf(
      "%s, commit %s; PyTorch: %s\nns per allocation and free, or per call; median of %d interleaved rounds (best)\n\n",
      machine().c_str(), commit().c_str(), torch() != nullptr ? torch()->version : "not here (tools/setup --torch)",
      g.brief ? 1 : g.rounds);
  for (std::string const& question : table.questions()) {
    std::printf("%s\n", question.c_str());
    for (std::string const& peer : table.peers()) {
      if (!table.has(peer, question)) continue;
      double const ns = table.median(peer, question);
      std::printf("  %-20s %9.1f  (%.1f)", peer.c_str(), ns, table.best(peer, question));
      if (peer != "tidemark" && table.has("tidemark", question))
        std::printf("   %.1f x ours", ns / table.median("tidemark", question));
      std::printf("\n");
    }
  }
}

void print_json(const Table& table) {
  nlohmann::ordered_json all = {{"bench", "allocator"},
                                {"machine", machine()},
                                {"commit", commit()},
                                {"torch", torch() != nullptr ? torch()->version : ""},
                                {"rounds", g.brief ? 1 : g.rounds}};
  for (std::string const& question : table.questions())
    for (std::string const& peer : table.peers()) {
      if (!table.has(peer, question)) continue;
      auto& row = all["questions"][question][peer];
      row = {{"ns", table.median(peer, question)}, {"best_ns", table.best(peer, question)}};
      if (table.has("tidemark", question))
        row["ratio_to_tidemark"] = table.median(peer, question) / table.median("tidemark", question);
    }
  std::printf("%s\n", all.dump(2).c_str());
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::string const word = arguments[i];
    if (word == "--short") g.brief = true;
    if (word == "--json") g.json = true;
    if (i + 1 >= count) continue;
    if (word == "--rounds") g.rounds = std::max(1, std::atoi(arguments[++i]));
    if (word == "--peers") g.peers = arguments[++i];
    if (word == "--peer") g.peer = arguments[++i];
  }
  if (!g.peer.empty()) {
    Device device(kMostThreads);
    return with_peer(g.peer, device, [&](auto& peer) { measure(device, peer); }) ? 0 : 4;
  }
  Table const table = compare();
  g.json ? print_json(table) : print_text(table);
  return 0;
}
