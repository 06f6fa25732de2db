// SPDX-License-Identifier: Apache-2.0
#include "interpose/limit/gate.h"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>

#include "base/bytes.h"
#include "interpose/limit/limit.h"
#include "interpose/record/devices.h"
#include "interpose/record/thread.h"

namespace tidemark::interpose {
namespace {

// More than any driver adds to a request: it rounds up to 2 MiB, and a pool grows by 32 MiB at a time.
constexpr std::uint64_t kAddition = 64 << 20;
constexpr std::int64_t kAlone = -1;

struct Gate {
  std::atomic<std::int64_t> inside{0};                           // how many together; kAlone
  std::atomic<std::uint64_t> reckoned_bytes{~std::uint64_t{0}};  // taken at most; all ones: not measured
};
constinit std::array<Gate, Devices::kMost> gates{};

Gate& gate(std::uint8_t device) {
  return gates[device % Devices::kMost];
}

void enter_together(Gate& g) {
  for (std::int64_t now = g.inside.load(std::memory_order_relaxed);;) {
    if (now >= 0 && g.inside.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) return;
    if (now < 0) {
      sched_yield();
      now = g.inside.load(std::memory_order_relaxed);
    }
  }
}

void enter_alone(Gate& g) {
  for (std::int64_t nobody = 0; !g.inside.compare_exchange_weak(nobody, kAlone, std::memory_order_acquire); nobody = 0)
    sched_yield();
}

// Takes a request off the credit; false when it does not suffice, and then nothing is taken.
bool reckon(Gate& g, std::uint64_t more_bytes, std::uint64_t limit) {
  std::uint64_t const most = round_up(more_bytes, 2 << 20) + kAddition;
  std::uint64_t now = g.reckoned_bytes.load(std::memory_order_relaxed);
  do {
    if (now > limit || most > limit - now) return false;
  } while (!g.reckoned_bytes.compare_exchange_weak(now, now + most, std::memory_order_relaxed));
  return true;
}

}  // namespace

Pass enter_gate(std::uint8_t device, std::uint64_t more_bytes) {
  std::uint64_t const limit = limit_bytes();
  if (limit == 0 || more_bytes > limit || this_thread().at_gate) return {};
  Pass pass{.kind = Pass::Kind::Together, .device = device};
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &pass.cancel_state);
  this_thread().at_gate = true;
  Gate& g = gate(device);
  enter_together(g);
  if (reckon(g, more_bytes, limit)) return pass;
  g.inside.fetch_sub(1, std::memory_order_release);
  enter_alone(g);
  pass.kind = Pass::Kind::Alone;
  return pass;
}

void leave_gate(const Pass& pass) {
  if (pass.kind == Pass::Kind::None) return;
  Gate& g = gate(pass.device);
  if (pass.kind == Pass::Kind::Alone) {
    g.inside.store(0, std::memory_order_release);
  } else {
    g.inside.fetch_sub(1, std::memory_order_release);
  }
  this_thread().at_gate = false;
  int ignored = 0;
  pthread_setcancelstate(pass.cancel_state, &ignored);
}

void set_credit(std::uint8_t device, std::uint64_t taken_bytes) {
  gate(device).reckoned_bytes.store(taken_bytes, std::memory_order_relaxed);
}

void spoil_credit(std::uint8_t device, std::uint64_t taken_bytes) {
  auto& reckoned = gate(device).reckoned_bytes;
  for (std::uint64_t now = reckoned.load(std::memory_order_relaxed); now < taken_bytes;)
    if (reckoned.compare_exchange_weak(now, ~std::uint64_t{0}, std::memory_order_relaxed)) return;
}

}  // namespace tidemark::interpose
