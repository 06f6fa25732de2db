// SPDX-License-Identifier: Apache-2.0
// An engine with a few streams, without any CUDA around it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "softgpu/queue/checker.h"
#include "softgpu/queue/engine.h"

namespace tidemark::softgpu {

// Engines live as long as the process, since their background thread does; a test's is kept here.
inline Engine& make_engine(const Config& config) {
  struct Kept {
    Config config;
    Engine engine;
    explicit Kept(const Config& c) : config(c), engine(config, nullptr) {}
  };
  static auto& kept = *new std::vector<Kept*>;
  kept.push_back(new Kept(config));
  return kept.back()->engine;
}

struct Bench {
  Engine* engine;
  StreamGroup group;
  Stream legacy;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::string> order;  // names of what has run

  explicit Bench(const Config& c) : engine(&make_engine(c)) {
    legacy.group = &group;
    legacy.id = 1;
    group.legacy = &legacy;
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  // The engine stays: what it still has queued would be run on streams that are gone.
  ~Bench() {
    Lock held = lock();
    engine->wait_group(held, group);
  }
  Stream& stream(bool blocking = true) {
    streams.push_back(std::make_unique<Stream>());
    Stream& s = *streams.back();
    s.group = &group;
    s.id = 1 + streams.size();
    s.blocking = blocking;
    group.streams.push_back(&s);
    return s;
  }
  Lock lock() { return Lock(engine->mutex()); }
  // A kernel that notes that it ran.
  Ref<Ticket> run(Lock& lock, Stream& s, const char* name, std::vector<Ref<Ticket>> waits = {}) {
    Item item;
    item.kind = ItemKind::Kernel;
    item.name = name;
    item.run_locked = true;
    item.run = [this, name] {
      order.emplace_back(name);
      return 0;
    };
    item.waits = std::move(waits);
    return engine->submit(lock, s, std::move(item));
  }
};

inline Config with_schedule(Schedule schedule, std::uint64_t seed = 0) {
  Config c;
  c.schedule = schedule;
  c.seed = seed;
  return c;
}

}  // namespace tidemark::softgpu
