// SPDX-License-Identifier: Apache-2.0
// The scheduler of all streams of all devices of the process.
//
// Work runs inside the calls that submit it or wait for it, never earlier than its stream's order and its waits allow:
//   eager   as soon as it can, in the submitting call;
//   late    only when somebody waits for it, and then only what that wait needs: as late as the API's promises allow;
//   random  a seeded choice, at each call, of what runs now.
// A host that makes its calls in the same order gets the same order of work from the same seed. Host functions run on
// a thread of their own, as CUDA's do: they may wait for the program. A program that spins on memory without calling
// CUDA still makes progress: under late and random a background thread runs what is left after some seconds of silence.
//
// One mutex guards all device state; callers hold it (Lock) around every call here. It is released while an item's body
// runs and while the host waits.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <unordered_set>
#include <vector>

#include "softgpu/model/config.h"
#include "softgpu/queue/clock.h"
#include "softgpu/queue/item.h"
#include "softgpu/queue/stream.h"

namespace tidemark::softgpu {

using Lock = std::unique_lock<std::mutex>;

class Checker;

class Engine {
 public:
  explicit Engine(const Config& config, Checker* checker);
  std::mutex& mutex() { return mutex_; }
  Clock& clock() { return clock_; }

  // Queues an item behind its stream; under eager and random it (or other work) may run before this returns.
  Ref<Ticket> submit(Lock& lock, Stream& stream, Item item);
  // For work of several items that belongs together (a graph's launch): nothing runs, and no other thread's work comes
  // between them, until proceed() lets the schedule have its way.
  Ref<Ticket> enqueue(Stream& stream, Item item);
  void proceed(Lock& lock, Stream& stream) { after_submit(lock, stream); }
  // Tickets that a new item of this stream has to wait for besides its own stream: the legacy stream's order.
  void add_implicit_waits(const Stream& stream, std::vector<Ref<Ticket>>& waits) const;

  // Whether everything queued in the stream from now on comes after that item, by stream order and waits alone.
  static bool ordered_before(const Ticket& ticket, const Stream& stream);

  bool done(const Ticket& ticket) const { return ticket.executed && ticket.finish <= clock_.now(); }
  // The host asks. Under late and random, asking lets work make progress, so that a loop of questions ends.
  bool query(Lock& lock, const Ref<Ticket>& ticket);
  void wait(Lock& lock, const Ref<Ticket>& ticket);
  // All that is queued in the stream or the group now.
  void wait_stream(Lock& lock, Stream& stream);
  void wait_group(Lock& lock, StreamGroup& group);
  // The stream is gone, its work long done: what others know of it is of no use any more.
  void forget(const Stream& stream) { known_streams_.erase(stream.id); }
  bool idle(const Stream& stream) const { return !stream.last || done(*stream.last); }
  bool idle(const StreamGroup& group) const;

  std::size_t pending_items() const { return pending_; }

 private:
  void learn(Stream& stream, const std::vector<Ref<Ticket>>& waits);
  bool is_ready(const Stream& stream) const;
  void execute_front(Lock& lock, Stream& stream);
  void finish(Stream& stream, Item& item, int error, Nanos began);
  Nanos earliest_start(const Stream& stream, const Item& item, Nanos began) const;
  Nanos cost(const Item& item, Nanos began) const;
  void post_host_item(Lock& lock, Stream& stream, Item item);
  bool run_any(Lock& lock);
  bool run_random(Lock& lock);
  bool run_needed(Lock& lock, Stream& stream);
  bool make_progress(Lock& lock, Stream& needed);
  void after_submit(Lock& lock, Stream& stream);
  void sleep_until(Lock& lock, Nanos t);
  void start_background_progress();
  void background_progress();
  void unlist(Stream& stream);

  const Config& config_;
  Checker* checker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock clock_;
  std::mt19937_64 random_;
  std::vector<Stream*> listed_;                      // streams with pending items
  std::unordered_set<std::uint64_t> known_streams_;  // ids of streams that have had work and still exist
  std::size_t pending_ = 0;
  std::size_t bodies_running_ = 0;
  std::uint64_t activity_ = 0;
  std::uint64_t searches_ = 0;
  bool background_started_ = false;
};

}  // namespace tidemark::softgpu
